//! Files of experiments: TOML of our own, or rt-app's JSON.

use crate::error::SpecError;
use crate::rtapp;
use crate::spec::Spec;
use std::path::Path;

impl Spec {
    /// rt-app's format if the name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn read(path: &Path) -> Result<Spec, SpecError> {
        let failed = |source| SpecError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        match path.extension().is_some_and(|ext| ext == "json") {
            true => Spec::of_rtapp(&name, &text),
            false => Spec::parse(&name, &text),
        }
    }

    /// Reads rt-app's JSON; `source` names it in errors.
    ///
    /// # Errors
    /// [`SpecError::Form`].
    pub fn of_rtapp(source: &str, text: &str) -> Result<Spec, SpecError> {
        rtapp::import(source, text)
    }
}
