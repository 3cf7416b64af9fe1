//! Reads lists page by page.
//!
//! In: a kind, a namespace or none, and a selector. Out: every chosen object, in pages. Fails: with
//! the first page that cannot be read; a partial list is never returned as a complete one. After an error,
//! the next call requests the same page again. After [`ErrorKind::Expired`](lifecycle_objects::write::WriteErrorKind::Expired), the
//! caller must begin a new list. Each page is a request of the [`Cluster`], whose lists are begun here.

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde_json::Value;

use crate::answer::foreign;
use crate::call::{Call, Verb};
use crate::cluster::Cluster;
use crate::form::Form;
use crate::managed_fields::List;
use crate::request;
use crate::selector::Selector;

/// A list whose pages are requested one by one.
pub struct Pages<'a> {
    cluster: &'a Cluster,
    objects: ObjectRef,
    selector: String,
    form: Form,
    page_size: u32,
    next: Next,
}

enum Next {
    First,
    Token(String),
    Nothing,
}

impl Cluster {
    /// Prepares a list of the objects of a kind that the selector chooses, in one namespace or, without one, in
    /// all. Sends no request; [`Pages`] does.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Invalid`]: the selector would choose every object, or holds invalid keys or values.
    pub fn list(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        selector: Selector<'_>,
        form: Form,
    ) -> Result<Pages<'_>, WriteError> {
        let objects = ObjectRef::all(kind.clone(), namespace);
        match selector.text() {
            Ok(selector) => Ok(Pages::new(self, objects, selector, form)),
            Err(message) => Err(Call { verb: Verb::List, object: &objects }.invalid(message)),
        }
    }

    /// Reads all pages of a [`list`](Self::list), but in another version of the kind if the server does not serve the kind in
    /// this one; returns no object also if the server serves the kind in no version.
    ///
    /// Sends further requests only after the server answered that it does not serve the kind in this version.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list); or the objects could not be read, so that it is unknown which exist.
    pub async fn list_in_any_version(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        selector: Selector<'_>,
        form: Form,
    ) -> Result<Vec<Value>, WriteError> {
        match self.list(kind, namespace, selector, form)?.read_all().await {
            Err(error) if error.kind == WriteErrorKind::NotFound => match self.served_version(kind).await? {
                Some(kind) => self.list(&kind, namespace, selector, form)?.read_all().await,
                None => Ok(Vec::new()),
            },
            answer => answer,
        }
    }
}

impl<'a> Pages<'a> {
    fn new(cluster: &'a Cluster, objects: ObjectRef, selector: String, form: Form) -> Self {
        let page_size = cluster.page_size(form);
        Self { cluster, objects, selector, form, page_size, next: Next::First }
    }

    /// Requests pages of at most so many objects. Small pages are for callers who look for one object.
    #[must_use]
    pub fn with_page_size(self, page_size: u32) -> Self {
        Self { page_size, ..self }
    }

    /// Requests the next page; returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// The page could not be read. A second call requests it again.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, WriteError> {
        let token = match &self.next {
            Next::First => "",
            Next::Token(token) => token,
            Next::Nothing => return Ok(None),
        };
        let cluster = self.cluster;
        let call = Call { verb: Verb::List, object: &self.objects };
        let endpoint = cluster.endpoint(&call).await?;
        let request = request::list(endpoint.collection(), &self.selector, self.page_size, token, self.form);
        let answer = match self.form {
            Form::Full => cluster.sender.send(&call, request).await.map(|List::<true>(answer)| answer),
            Form::MetadataOnly => cluster.sender.send(&call, request).await.map(|List::<false>(answer)| answer),
        };
        let page = answer.and_then(|answer| endpoint.expected(&self.objects).page(answer, self.form));
        let page = page.and_then(|(items, next)| match next {
            Some(next) if next == token => Err(foreign("the token of its next page is that of this page")),
            next => Ok((items, next)),
        });
        let (items, token) = page.map_err(|refusal| cluster.refused(&call, refusal))?;
        self.next = token.map_or(Next::Nothing, Next::Token);
        Ok(Some(items))
    }

    /// Reads all pages into one list.
    ///
    /// # Errors
    ///
    /// A page could not be read. The pages before it are dropped, because an incomplete list proves no absence.
    pub async fn read_all(mut self) -> Result<Vec<Value>, WriteError> {
        let mut objects = Vec::new();
        while let Some(page) = self.next().await? {
            objects.extend(page);
        }
        Ok(objects)
    }
}
