//! Reads lists page by page.
//!
//! In: a kind, a namespace or none, and a selector. Out: every chosen object, in pages. Fails: with
//! the first page that cannot be read; a partial list is never returned as a complete one. After an error,
//! the next call requests the same page again. After [`ErrorKind::Expired`](lifecycle_objects::write::WriteErrorKind::Expired), the
//! caller must begin a new list. One idea with [`cluster`](crate::cluster), two files: pages are what a list of the
//! cluster returns, and each of them is a request of that cluster.

use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::WriteError;
use serde_json::Value;

use crate::answer::foreign;
use crate::call::{Call, Verb};
use crate::cluster::Cluster;
use crate::form::Form;
use crate::managed_fields::List;
use crate::request;

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

impl<'a> Pages<'a> {
    pub(crate) fn new(cluster: &'a Cluster, objects: ObjectRef, selector: String, form: Form) -> Self {
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
