use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::woken::{AnyLink, Partner, Sent};
use punctual_model::ProblemKind;
use punctual_rt::Remarks;
use punctual_units::{CpuId, Nanos, WakeupSource};

impl Outcome {
    pub(crate) fn add_remarks(&mut self, plan: &Plan, cpu: CpuId, remarks: &Remarks) {
        if let Some(drift) = remarks.drift {
            self.notes.push(format!(
                "phase {}, CPU {cpu}: relative sleeps ended {drift} behind an absolute cycle; each late wakeup delayed all later ones, so none counts as missed",
                plan.phase
            ));
        }
        if remarks.disagreements > 0 {
            self.problem(
                ProblemKind::NotAsAsked,
                format!(
                    "CPU {cpu}: at {} wakeups the kernel's count of expiries of the {} and the clock contradict each other",
                    remarks.disagreements, plan.via
                ),
            );
        }
        if remarks.lost > 0 {
            let text = format!("CPU {cpu}: {} messages were sent but never arrived ({})", remarks.lost, plan.via);
            self.problem(ProblemKind::NotAsAsked, text);
        }
        if remarks.strays > 0 {
            let text = format!("CPU {cpu}: {} unexpected messages arrived ({})", remarks.strays, plan.via);
            self.problem(ProblemKind::NotAsAsked, text);
        }
    }

    /// Adds notes on one sender. `crowded` is the number of its messages that arrived too close to the previous
    /// message.
    pub(crate) fn add_sender(&mut self, plan: &Plan, cpu: CpuId, sent: Sent, crowded: u64) {
        self.notes.push(placed(plan, cpu, &sent));
        if sent.late_sends + sent.unsent + crowded > 0 {
            self.notes.push(format!(
                "phase {}, CPU {cpu}: the sender itself was late: late_sends {} of {} (worst {}), no message for {} releases, {crowded} \
                 messages too close to the previous one; none of these releases counts as missed",
                plan.phase,
                sent.late_sends,
                sent.messages,
                Nanos(sent.worst_ns),
                sent.unsent
            ));
        }
        if sent.refused > 0 {
            let text =
                format!("CPU {cpu}: the kernel refused {} messages: the queue was full ({})", sent.refused, plan.via);
            self.problem(ProblemKind::NotAsAsked, text);
        }
        let planned = sent.messages + sent.unsent;
        if sent.unsent > planned / 10 {
            let text = format!(
                "CPU {cpu}: its sender was starved: no message was sent for {} of {planned} releases; leave a CPU unmeasured for it \
                 (--cpus), or lengthen --period",
                sent.unsent
            );
            self.problem(ProblemKind::NotAsAsked, text);
        }
        self.senders.push((cpu, sent));
    }

    pub(crate) fn add_link(&mut self, partner: &Partner) {
        if let AnyLink::Serial(serial) = &partner.link {
            self.notes.extend(serial.notes.iter().cloned());
        }
    }
}

fn placed(plan: &Plan, cpu: CpuId, sent: &Sent) -> String {
    let place = sent.place;
    let why = match (place.shared, place.scheduling.priority().is_some() || plan.scheduling.priority().is_none()) {
        (false, _) => "a CPU that is not measured",
        (true, true) => {
            "the measured CPU itself, because there is no other CPU, at a lower priority than the thread that it wakes"
        }
        (true, false) => "the measured CPU itself, as an ordinary thread, because there is no lower real-time priority",
    };
    let (via, scheduling) = (&plan.via, place.scheduling);
    let until = if matches!(plan.via, WakeupSource::Serial(_)) { "write(2)" } else { "the sending call" };
    format!(
        "the thread on CPU {cpu} was woken with --via {via} by a sender on CPU {} ({why}) that runs as {scheduling}; latency counts from the sender's \
         clock reading before {until}",
        place.cpu
    )
}
