use std::io;

#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// This kernel or machine cannot produce the delay.
    #[error("not possible here: {0}")]
    Impossible(String),
    #[error("{what}: {source}")]
    Failed { what: String, source: io::Error },
    #[error(transparent)]
    Refused(#[from] punctual_rt::Refused),
    #[error(transparent)]
    Call(#[from] punctual_uapi::Error),
    /// A child process of the campaign printed something invalid, or ended early.
    #[error("{0}")]
    Child(String),
}

impl InjectError {
    /// Returns a function that adds the attempted operation to an error.
    pub(crate) fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> InjectError {
        let what = what.into();
        move |source| InjectError::Failed { what, source: source.into() }
    }
}
