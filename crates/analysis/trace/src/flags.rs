//! The flags the kernel records with every event: interrupts off, need-resched, context, preemption and migration
//! depth.

/// The latency columns of an event (kernel/trace/trace_output.c, `trace_print_lat_fmt`). `None` if the format or the
/// kernel does not record the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Interrupts disabled (`d`, `D`).
    pub irqs_off: Option<bool>,
    /// Bottom halves disabled (`b`, `D`; kernels from 5.19). `None`, not `false`, where the kernel cannot record it.
    pub bh_off: Option<bool>,
    /// TIF_NEED_RESCHED (`N`, `n`).
    pub need_resched: Option<bool>,
    /// TIF_NEED_RESCHED_LAZY (`l`, `L`; kernels from 6.13, and RT patches in a separate column).
    pub need_resched_lazy: Option<bool>,
    /// PREEMPT_NEED_RESCHED (`N`, `p`).
    pub preempt_resched: Option<bool>,
    pub context: Option<Context>,
    /// Preemption-disable depth; newer kernels cap it at 15.
    pub preempt_depth: Option<u8>,
    /// Migration-disable depth, capped at 15.
    pub migrate_disable: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `.`: in a task, outside of interrupts.
    Task,
    /// `s`; on PREEMPT_RT the thread that runs the softirq.
    Softirq,
    /// `h`: in a hard interrupt.
    Hardirq,
    /// `H`: in a hard interrupt that interrupted a softirq.
    HardirqInSoftirq,
    /// `z`: in an NMI.
    Nmi,
    /// `Z`: in an NMI that interrupted a hard interrupt.
    NmiInHardirq,
}

impl Context {
    pub fn is_hard(self) -> bool {
        !matches!(self, Context::Task | Context::Softirq)
    }
}

/// Bits of `common_flags` (include/linux/trace_events.h, `enum trace_flag_type`).
const IRQS_OFF: u8 = 0x01;
const LAZY: u8 = 0x02;
const RESCHED: u8 = 0x04;
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;
const PREEMPT_RESCHED: u8 = 0x20;
const NMI: u8 = 0x40;
const BH_OFF: u8 = 0x80;

/// The preempt byte of events in which the kernel subtracted 1 from a depth of 0, so that all flags are wrong: those of
/// uprobes, at which preemption is enabled (`tracing_gen_ctx_dec` in include/linux/trace_events.h, seen in Linux 6.18). In
/// text both depths are then `f`.
const UNDERFLOW: u8 = 0xff;

/// The meaning of bits that differ between kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// True if 0x80 is lazy need-resched (RT patches up to 5.10, which record migrate-disable in a separate field).
    pub lazy_is_0x80: bool,
    /// True if 0x02 is lazy need-resched; otherwise it means that the architecture cannot determine whether interrupts
    /// are off.
    pub lazy_is_0x02: bool,
    /// True if the upper half of the preempt byte is the migrate-disable depth (from 5.15).
    pub migrate_in_upper_half: bool,
}

impl Dialect {
    /// Returns the dialect; `release` is e.g. `6.12.95+deb12-rt-amd64`. `own_migrate`: records have a migrate-disable
    /// field.
    pub(crate) fn of(release: Option<&str>, own_migrate: bool) -> Dialect {
        let release = release.unwrap_or_default();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Dialect {
            lazy_is_0x80: own_migrate,
            lazy_is_0x02: !own_migrate && (version >= (6, 13) || (version >= (5, 16) && release.contains("rt"))),
            migrate_in_upper_half: !own_migrate && version >= (5, 15),
        }
    }
}

impl Flags {
    /// Decodes the bytes of a binary trace. `migrate` is the separate field of RT kernels up to 5.10.
    pub(crate) fn from_bits(bits: u8, preempt: u8, migrate: Option<u8>, dialect: Dialect) -> Flags {
        if preempt == UNDERFLOW {
            return Flags::default();
        }
        let unsupported = bits & LAZY != 0 && !dialect.lazy_is_0x02;
        let lazy = match dialect {
            Dialect { lazy_is_0x80: true, .. } => Some(bits & BH_OFF != 0),
            Dialect { lazy_is_0x02: true, .. } => Some(bits & LAZY != 0),
            _ => None,
        };
        let context = match (bits & NMI != 0, bits & HARDIRQ != 0, bits & SOFTIRQ != 0) {
            (true, true, _) => Context::NmiInHardirq,
            (true, false, _) => Context::Nmi,
            (false, true, true) => Context::HardirqInSoftirq,
            (false, true, false) => Context::Hardirq,
            (false, false, true) => Context::Softirq,
            (false, false, false) => Context::Task,
        };
        Flags {
            irqs_off: (!unsupported).then_some(bits & IRQS_OFF != 0),
            bh_off: if bits & BH_OFF != 0 && !dialect.lazy_is_0x80 { Some(true) } else { None },
            need_resched: Some(bits & RESCHED != 0),
            need_resched_lazy: lazy,
            preempt_resched: Some(bits & PREEMPT_RESCHED != 0),
            context: Some(context),
            preempt_depth: Some(if dialect.migrate_in_upper_half { preempt & 0xf } else { preempt }),
            migrate_disable: migrate.or(dialect.migrate_in_upper_half.then_some(preempt >> 4)),
        }
    }

    /// Decodes the columns of a text trace: 4 (older mainline), 5 (from 5.15), 6 or 7 (RT patches with lazy columns).
    /// `None` if the bytes are not such columns. The header is ignored: the header of timerlat in 6.12 shows 7 columns
    /// above
    /// 5.
    pub(crate) fn from_columns(columns: &[u8]) -> Option<Flags> {
        let (irqs, resched, lazy, context, preempt, migrate) = match *columns {
            [i, n, c, p] => (i, n, None, c, p, None),
            [i, n, c, p, m] => (i, n, None, c, p, Some(m)),
            [i, n, l, c, p, _lazy_depth] => (i, n, Some(l), c, p, None),
            [i, n, l, c, p, _lazy_depth, m] => (i, n, Some(l), c, p, Some(m)),
            _ => return None,
        };
        // Dovetail (Xenomai, EVL): `~` is the out-of-band stage, in any context.
        let context = if context == b'~' { None } else { Some(context_letter(context)?) };
        let mut flags = Flags { context, ..Flags::default() };
        match irqs {
            b'.' => flags.irqs_off = Some(false),
            b'd' => flags.irqs_off = Some(true),
            b'D' => (flags.irqs_off, flags.bh_off) = (Some(true), Some(true)),
            b'b' => (flags.irqs_off, flags.bh_off) = (Some(false), Some(true)),
            // Dovetail: interrupts are off in hardware, alone or for the in-band stage as well.
            b'|' | b'*' => flags.irqs_off = Some(true),
            b'X' => {}
            _ => return None,
        }
        flags.set_resched(resched)?;
        if let Some(letter) = lazy {
            flags.need_resched_lazy = Some(matches!(letter, b'L' | b'l' | b'N' | b'n'));
            if !matches!(letter, b'.' | b'L' | b'l' | b'N' | b'n') {
                return None;
            }
        }
        flags.preempt_depth = Some(depth(preempt)?);
        flags.migrate_disable = match migrate {
            Some(letter) => Some(depth(letter)?),
            None => None,
        };
        match (preempt, migrate) {
            (b'f', Some(b'f')) => Some(Flags::default()),
            _ => Some(flags),
        }
    }

    fn set_resched(&mut self, letter: u8) -> Option<()> {
        let (need, preempt, lazy) = match letter {
            b'.' => (false, false, None),
            b'N' => (true, true, None),
            b'n' => (true, false, None),
            b'p' => (false, true, None),
            b'B' => (true, true, Some(true)),
            b'L' => (false, true, Some(true)),
            b'b' => (true, false, Some(true)),
            b'l' => (false, false, Some(true)),
            _ => return None,
        };
        (self.need_resched, self.preempt_resched, self.need_resched_lazy) = (Some(need), Some(preempt), lazy);
        Some(())
    }

    /// True if any kind of reschedule is pending; `None` if not recorded.
    pub fn wants_resched(&self) -> Option<bool> {
        let known = [self.need_resched, self.need_resched_lazy, self.preempt_resched];
        if known.contains(&Some(true)) { Some(true) } else { known.into_iter().flatten().next() }
    }
}

fn context_letter(letter: u8) -> Option<Context> {
    Some(match letter {
        b'.' => Context::Task,
        b's' => Context::Softirq,
        b'h' => Context::Hardirq,
        b'H' => Context::HardirqInSoftirq,
        b'z' => Context::Nmi,
        b'Z' => Context::NmiInHardirq,
        _ => return None,
    })
}

fn depth(letter: u8) -> Option<u8> {
    match letter {
        b'.' => Some(0),
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_widths() {
        let four = Flags::from_columns(b"dNh1").unwrap();
        assert_eq!((four.irqs_off, four.preempt_depth, four.migrate_disable), (Some(true), Some(1), None));
        let five = Flags::from_columns(b".l.13").unwrap();
        assert_eq!(
            (five.need_resched, five.need_resched_lazy, five.migrate_disable),
            (Some(false), Some(true), Some(3))
        );
        let seven = Flags::from_columns(b"d.Lh2..").unwrap();
        assert_eq!((seven.need_resched_lazy, seven.preempt_depth), (Some(true), Some(2)));
        assert_eq!(seven.context, Some(Context::Hardirq));
        // A uprobe (Linux 6.18).
        assert_eq!(Flags::from_columns(b"DBZff"), Some(Flags::default()));
        assert_eq!(Flags::from_columns(b"12.34"), None);
        assert_eq!(Flags::from_columns(b"d.."), None);
    }

    #[test]
    fn bits_follow_the_dialect_of_the_kernel() {
        let new = Dialect::of(Some("6.18.0"), false);
        let flags = Flags::from_bits(0x01 | 0x02 | 0x08 | 0x10, 0x21, None, new);
        assert_eq!((flags.irqs_off, flags.need_resched_lazy), (Some(true), Some(true)));
        assert_eq!((flags.context, flags.preempt_depth), (Some(Context::HardirqInSoftirq), Some(1)));
        assert_eq!(flags.migrate_disable, Some(2));
        // A uprobe (Linux 6.18).
        assert_eq!(Flags::from_bits(0xff, 0xff, None, new), Flags::default());
        let rt = Dialect::of(Some("5.10.0-30-rt-amd64"), true);
        let flags = Flags::from_bits(0x82, 17, Some(1), rt);
        assert_eq!((flags.irqs_off, flags.need_resched_lazy, flags.bh_off), (None, Some(true), None));
        assert_eq!((flags.preempt_depth, flags.migrate_disable), (Some(17), Some(1)));
    }
}
