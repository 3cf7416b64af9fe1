//! Lists, page by page.
//!
//! In: a kind, a namespace or none, and labels. Out: every object that has these labels, or an error; never a part of the
//! objects as if it were all. Only the last page ends a list: after an error the next call asks for the same page again,
//! and an expired list ([`ErrorKind::Expired`](crate::ErrorKind::Expired)) has to be begun anew.

use lifecycle_core::object_ref::ObjectRef;
use serde_json::Value;

use crate::call::{Call, Verb};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::request;

/// How much of each object a list gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The object as the server has it.
    Full,
    /// `apiVersion`, `kind` and `metadata`, which is all that the server then sends.
    MetadataOnly,
}

/// A list that is read page by page.
pub struct Pages<'a> {
    cluster: &'a Cluster,
    objects: ObjectRef,
    selector: String,
    form: Form,
    next: Next,
}

enum Next {
    First,
    Token(String),
    Nothing,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(cluster: &'a Cluster, objects: ObjectRef, selector: String, form: Form) -> Self {
        Self { cluster, objects, selector, form, next: Next::First }
    }

    /// Reads the next page; none after the last one.
    ///
    /// # Errors
    ///
    /// The page could not be read. The list has not ended.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let token = match &self.next {
            Next::First => "",
            Next::Token(token) => token,
            Next::Nothing => return Ok(None),
        };
        let cluster = self.cluster;
        let call = Call { verb: Verb::List, object: &self.objects };
        let endpoint = cluster.endpoint(&call).await?;
        let request = request::list(endpoint.collection(), &self.selector, cluster.page_size, token, self.form);
        let answer = cluster.sender.send(&call, request).await;
        let page = answer.and_then(|answer| endpoint.expected(&self.objects).page(answer, self.form));
        let (items, token) = page.map_err(|refusal| cluster.refused(&call, refusal))?;
        self.next = token.map_or(Next::Nothing, Next::Token);
        Ok(Some(items))
    }

    /// Reads every page.
    ///
    /// # Errors
    ///
    /// Some page could not be read: what the others held proves nothing.
    pub async fn read_all(mut self) -> Result<Vec<Value>, Error> {
        let mut objects = Vec::new();
        while let Some(page) = self.next().await? {
            objects.extend(page);
        }
        Ok(objects)
    }
}
