use std::io;

#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    /// This kernel or machine cannot produce it.
    #[error("not possible here: {0}")]
    Impossible(String),
    #[error("{what}: {source}")]
    Failed {
        /// The attempted operation.
        what: String,
        source: io::Error,
    },
    #[error(transparent)]
    Refused(#[from] punctual_rt::Refused),
    #[error(transparent)]
    Call(#[from] punctual_uapi::Error),
    /// A process of the campaign printed something unreadable, or ended early.
    #[error("{0}")]
    Child(String),
}

impl PlantError {
    /// For `map_err`: names the attempted operation.
    pub(crate) fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> PlantError {
        let what = what.into();
        move |source| PlantError::Failed { what, source: source.into() }
    }
}
