/* Code shared by all adapters of the event suite: the line protocol (docs/backends.md) and the record of arrivals.
 *
 * An adapter is a program linked with a co-kernel's libraries. It reads one request per line from stdin and answers on
 * stdout. It writes nothing while a test runs, and prints the arrivals afterwards. It neither counts nor judges them.
 */
#ifndef PUNCTUAL_ADAPTER_H
#define PUNCTUAL_ADAPTER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUNCTUAL_PROTOCOL 1

/* A requested test. */
struct plan {
	char test[64];
	uint64_t interval_ns; /* 0: no grid */
	uint64_t events;
	uint64_t deadline_ns;
	int priority;
	int cpu; /* -1: any CPU */
};

/* An arrival: the number of the first event, how many arrived together, and how late the first one was. */
struct arrival {
	uint64_t number, count, lateness_ns;
};

/* Written by the real-time task, and read after that task has ended. */
struct book {
	struct arrival *arrivals;
	uint64_t room, used, missed; /* missed: arrivals for which there was no room */
	uint64_t sent, overflowed;
	int64_t faults, switches; /* -1: unknown */
	char note[256];
};

/* Why a test did not run: the rest of an answer, `unsupported WHY` or `failed WHY`. */
struct answer {
	char text[512];
};

static inline void book_arrival(struct book *b, uint64_t number, uint64_t count, uint64_t lateness_ns)
{
	if (b->used == b->room) {
		b->missed++;
		return;
	}
	struct arrival *a = &b->arrivals[b->used++];
	a->number = number;
	a->count = count;
	a->lateness_ns = lateness_ns;
}

/* Returns how late `now` is; 0 if it is not later than `due`. */
static inline uint64_t late(uint64_t now, uint64_t due)
{
	return now > due ? now - due : 0;
}

static inline int unsupported(struct answer *a, const char *why)
{
	snprintf(a->text, sizeof(a->text), "unsupported %s", why);
	return -1;
}

static inline int failed(struct answer *a, const char *what, int error)
{
	snprintf(a->text, sizeof(a->text), "failed %s: %s", what, strerror(error < 0 ? -error : error));
	return -1;
}

/* Defined by each adapter: name, facts (`fact KEY VALUE` lines) and tests. 0: the book holds the result. */
extern const char *adapter_name;
void adapter_facts(void);
int adapter_run(const struct plan *plan, struct book *book, struct answer *answer);

/* Parses `run TEST key=value …`; missing keys keep their defaults. Returns 0 if the line is valid. */
static int read_plan(char *line, struct plan *p)
{
	memset(p, 0, sizeof(*p));
	p->cpu = -1;
	char *save = NULL, *word = strtok_r(line, " ", &save);
	if (!word || strcmp(word, "run"))
		return -1;
	word = strtok_r(NULL, " ", &save);
	if (!word)
		return -1;
	snprintf(p->test, sizeof(p->test), "%s", word);
	while ((word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '=');
		if (!value)
			return -1;
		*value++ = 0;
		if (!strcmp(word, "interval_ns"))
			p->interval_ns = strtoull(value, NULL, 10);
		else if (!strcmp(word, "events"))
			p->events = strtoull(value, NULL, 10);
		else if (!strcmp(word, "deadline_ns"))
			p->deadline_ns = strtoull(value, NULL, 10);
		else if (!strcmp(word, "priority"))
			p->priority = atoi(value);
		else if (!strcmp(word, "cpu"))
			p->cpu = atoi(value);
		/* Keys of a newer protocol are ignored. */
	}
	return p->events > 0 && p->events <= (1u << 28) ? 0 : -1;
}

static void answer_run(const struct plan *p)
{
	struct book b = { .room = p->events + 1024, .faults = -1, .switches = -1 };
	struct answer why = { "failed no reason was given" };
	b.arrivals = malloc(b.room * sizeof(*b.arrivals));
	if (!b.arrivals) {
		printf("failed malloc of %llu arrivals\n", (unsigned long long)b.room);
		return;
	}
	/* Written to, so that the pages are mapped. */
	memset(b.arrivals, 0xff, b.room * sizeof(*b.arrivals));
	if (adapter_run(p, &b, &why)) {
		printf("%s\n", why.text);
	} else if (b.missed) {
		printf("failed %llu more arrivals than were planned\n", (unsigned long long)b.missed);
	} else {
		for (uint64_t n = 0; n < b.used; n++)
			printf("a %llu %llu %llu\n", (unsigned long long)b.arrivals[n].number,
			       (unsigned long long)b.arrivals[n].count, (unsigned long long)b.arrivals[n].lateness_ns);
		if (b.overflowed)
			printf("overflowed %llu\n", (unsigned long long)b.overflowed);
		if (b.faults >= 0)
			printf("faults %lld\n", (long long)b.faults);
		if (b.switches >= 0)
			printf("switches %lld\n", (long long)b.switches);
		if (b.note[0])
			printf("note %s\n", b.note);
		printf("sent %llu\n", (unsigned long long)b.sent);
	}
	free(b.arrivals);
}

static int adapter_main(void)
{
	char line[512];
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		struct plan plan;
		if (!strcmp(line, "hello 1")) {
			printf("hello %d %s\n", PUNCTUAL_PROTOCOL, adapter_name);
			adapter_facts();
		} else if (!strcmp(line, "quit")) {
			return 0;
		} else if (!read_plan(line, &plan)) {
			answer_run(&plan);
		} else {
			printf("failed this request is not understood\n");
		}
		printf("end\n");
		fflush(stdout);
	}
	return 0;
}

#endif
