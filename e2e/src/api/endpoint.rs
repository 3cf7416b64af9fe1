//! Parses the paths that the API serves.
//!
//! In: a path below the API's base. Out: its endpoint, or `None`, for which the API answers `NTF-000`.

/// The collections of all registered kinds, each with that of the parent kind.
const COLLECTIONS: [(&str, Option<&str>); 4] =
    [("clusters", None), ("nodepools", Some("clusters")), ("channels", None), ("versions", Some("channels"))];
/// The collection that has the resources of all kinds.
pub(super) const ALL_KINDS: &str = "resources";

/// An endpoint, with the path of its collection or resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    Collection(&'a str),
    Resource(&'a str),
    Statuses(&'a str),
    ForceDelete(&'a str),
}

impl<'a> Endpoint<'a> {
    pub(super) fn parse(path: &'a str) -> Option<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if let Some(resource) = path.strip_suffix("/statuses").filter(|path| is_resource(path)) {
            return Some(Self::Statuses(resource));
        }
        if let Some(resource) = path.strip_suffix("/force-delete").filter(|path| is_resource(path)) {
            return Some(Self::ForceDelete(resource));
        }
        if is_resource(path) {
            return Some(Self::Resource(path));
        }
        is_collection(path).then_some(Self::Collection(path))
    }

    /// The methods of the endpoint, as its answer to another method names them.
    pub(super) fn methods(self) -> &'static str {
        match self {
            Self::Collection(_) | Self::Resource(_) => "GET",
            Self::Statuses(_) => "GET, PUT",
            Self::ForceDelete(_) => "POST",
        }
    }
}

fn is_resource(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(collection, id)| !id.is_empty() && is_collection(collection))
}

fn is_collection(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [all] if all == ALL_KINDS => true,
        [own] => COLLECTIONS.iter().any(|(collection, _)| *collection == own),
        [parent, id, own] => !id.is_empty() && COLLECTIONS.contains(&(own, Some(parent))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_parsed_by_the_registered_kinds() {
        let cases = [
            ("clusters", Some(Endpoint::Collection("clusters"))),
            ("clusters/", Some(Endpoint::Collection("clusters"))),
            ("clusters/c1", Some(Endpoint::Resource("clusters/c1"))),
            ("clusters/c1/statuses", Some(Endpoint::Statuses("clusters/c1"))),
            ("clusters/c1/nodepools", Some(Endpoint::Collection("clusters/c1/nodepools"))),
            ("clusters/c1/nodepools/n1", Some(Endpoint::Resource("clusters/c1/nodepools/n1"))),
            ("nodepools/n1/force-delete", Some(Endpoint::ForceDelete("nodepools/n1"))),
            ("resources", Some(Endpoint::Collection("resources"))),
            ("resources/c1/force-delete", Some(Endpoint::ForceDelete("resources/c1"))),
            ("", None),
            ("zones", None),
            ("zones/z1", None),
            ("clusters/c1/versions", None),
            ("clusters/c1/spec", None),
            ("clusters//nodepools", None),
            ("clusters/c1/nodepools/n1/pods", None),
        ];
        for (path, expected) in cases {
            assert_eq!(Endpoint::parse(path), expected, "{path}");
        }
    }
}
