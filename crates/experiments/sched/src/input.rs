//! Reads experiment files: TOML, or the JSON of rt-app.

use crate::error::SpecError;
use crate::rtapp;
use crate::spec::Spec;
use std::path::Path;

impl Spec {
    /// Reads the format of rt-app if the name ends in `.json`, otherwise TOML.
    ///
    /// # Errors
    /// [`SpecError`] if the file cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Spec, SpecError> {
        let failed = |source| SpecError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        match path.extension().is_some_and(|ext| ext == "json") {
            true => Spec::of_rtapp(&name, &text),
            false => Spec::parse(&name, &text),
        }
    }

    /// Parses the JSON of rt-app. `source` names the text in error messages.
    ///
    /// # Errors
    /// [`SpecError::Form`] or [`SpecError::RtApp`] if the text is invalid or not supported.
    pub fn of_rtapp(source: &str, text: &str) -> Result<Spec, SpecError> {
        rtapp::import(source, text)
    }
}
