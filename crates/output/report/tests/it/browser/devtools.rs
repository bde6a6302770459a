//! Controls Chromium through the DevTools protocol, over a pipe (chromedevtools.github.io/devtools-protocol).

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// Events received since the last call.
    events: Vec<Value>,
}

/// Properties of the emulated device.
#[derive(Clone, Copy)]
pub struct View {
    pub width: u32,
    pub height: u32,
    pub script: bool,
    pub dark: bool,
}

impl Browser {
    /// Starts a headless browser with an empty profile below `folder`, and one empty page.
    pub fn start(folder: &Path) -> Browser {
        let profile = folder.join("profile");
        // The DevTools protocol uses descriptors 3 and 4.
        let line = "exec chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
                    --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", line])
            .arg(profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser { child, to, from, session: None, last: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(String::from);
        ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"]
            .into_iter()
            .for_each(|method| drop(browser.call(method, json!({}))));
        browser
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).expect("the browser answers");
        assert_eq!(message.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&message).expect("JSON")
    }

    /// Runs a command and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.read();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|one| one["method"] == event) {
            let next = self.read();
            self.events.push(next);
        }
    }

    /// Opens a page, and waits until it is loaded.
    pub fn open(&mut self, page: &Path, view: View) {
        let View { width, height, script, dark } = view;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": !script }));
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        self.wait_for("Page.loadEventFired");
    }

    /// Returns the value of an expression in the page; promises are awaited.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let done = self.call("Runtime.evaluate", params);
        assert!(done["exceptionDetails"].is_null(), "{expression}: {}", done["exceptionDetails"]);
        done["result"]["value"].clone()
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        self.eval(expression).as_f64().unwrap_or_else(|| panic!("{expression} is no number"))
    }

    /// Returns the console errors since the page was opened, and every external resource that the page requested.
    pub fn complaints(&mut self) -> Vec<String> {
        let bad = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(event["params"]["args"].to_string()),
            "Log.entryAdded" => Some(event["params"]["entry"].to_string()),
            "Network.requestWillBeSent" if event["params"]["type"] != "Document" => {
                Some(format!("asked for {}", event["params"]["request"]["url"]))
            }
            _ => None,
        };
        self.events.iter().filter_map(bad).collect()
    }

    pub fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
    }

    /// Takes a picture of the whole page, or of its visible part.
    pub fn picture(&mut self, whole: bool) -> Vec<u8> {
        let mut params = json!({ "format": "png" });
        if whole {
            let size = self.eval("({x:0,y:0,scale:1,width:document.documentElement.clientWidth,height:Math.min(16000,document.documentElement.scrollHeight)})");
            params = json!({ "format": "png", "captureBeyondViewport": true, "clip": size });
        }
        bytes(&self.call("Page.captureScreenshot", params))
    }

    /// Prints the page on A4 as PDF.
    pub fn printed(&mut self) -> Vec<u8> {
        bytes(&self.call("Page.printToPDF", json!({ "preferCSSPageSize": true, "printBackground": false })))
    }
}

fn bytes(answer: &Value) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
