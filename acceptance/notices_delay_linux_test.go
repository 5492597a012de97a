package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// noticeAsker puts questions to one daemon, and denies them.
type noticeAsker struct {
	fileAgent
	a      *actor
	person *ipc.Client
	news   ipc.Stream[ipc.News]
	count  int
}

// noticeAsker starts the daemon with a configuration.
func (a *actor) noticeAsker(config string) *noticeAsker {
	a.t.Helper()
	a.startWith("[approval]\ntimeout = \"60s\"\ntimeout_remote = \"60s\"\n" + config)
	a.sbx("trust", a.project)
	agent := a.fileAgent(a.agentPeer("asker"), ipc.KindCLI)
	k := &noticeAsker{a: a, fileAgent: agent, person: &a.personPeer("delay", false).approver}
	var err error
	if k.news, err = k.person.News(a.t.Context(), ipc.NewsRequest{}); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { k.news.Close() })
	return k
}

// ask puts a question and returns the time from the request until the approver has it.
func (k *noticeAsker) ask() time.Duration {
	t := k.a.t
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	k.count++
	began := time.Now()
	r := ipc.ExecRequest{Session: k.session, Command: fmt.Sprint("touch made", k.count)}
	if _, err := k.StartExec(ctx, r); err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	for {
		n, err := k.news.Next(ctx)
		switch {
		case err != nil:
			t.Fatal(err)
		case n.Type == ipc.NewsRequested:
			took = time.Since(began)
			decide(ctx, t, k.person, *n.Approval, ipc.Answer{Mode: "soft"})
		case n.Decision != nil && took > 0:
			return took
		}
	}
}

// delayed asks two daemons in turns and returns the median of the differences between with and without, and the
// median of without.
func delayed(with, without *noticeAsker, pairs int) (more, base time.Duration) {
	var differences, all []time.Duration
	for i := range pairs {
		first, second := with, without
		if i%2 == 1 {
			first, second = without, with
		}
		x, y := first.ask(), second.ask()
		if i%2 == 1 {
			x, y = y, x
		}
		differences, all = append(differences, x-y), append(all, y)
	}
	slices.Sort(differences)
	slices.Sort(all)
	return differences[pairs/2], all[pairs/2]
}

// R-UX-13: dead, slow and failing receivers, and a program that hangs, delay no question by a millisecond. With
// NOTICE_PAIRS the test asks more often.
func TestBadReceiversDelayNoQuestion(t *testing.T) {
	t.Parallel()
	const most, rounds = time.Millisecond, 3
	pairs, err := strconv.Atoi(os.Getenv("NOTICE_PAIRS"))
	if err != nil {
		pairs = 60
	}
	dead, failing, silent := badReceivers(t)
	a := newActor(t, "")
	hangs := filepath.Join(a.dir, "hangs")
	a.sh(fmt.Sprintf("umask 077; printf '#!/bin/sh\nexec sleep 60\n' > %s; chmod 700 %[1]s", hangs))
	config := fmt.Sprintf("[notify]\ndelay = \"0s\"\ndelay_high = \"0s\"\ncommand = %q\n", hangs)
	for url, form := range map[string]string{dead: "slack", failing: "teams", silent: "ntfy"} {
		config += fmt.Sprintf("[[notify.webhooks]]\nurl = \"%s/topic\"\nform = %q\n", url, form)
	}
	with, without := a.noticeAsker(config), newActor(t, "").noticeAsker("")
	delayed(with, without, 10) // the caches of both
	for round := 1; ; round++ {
		more, base := delayed(with, without, pairs)
		t.Logf("%d pairs: median difference %s, of a median of %s without receivers", pairs, more, base)
		if more < most {
			break
		}
		if round == rounds {
			t.Fatalf("receivers delay a question by %s, want less than %s", more, most)
		}
	}
	// The others may have had no time: a question that is answered at once takes its notices back.
	eventually(t, "the status names the program that hangs", func() bool {
		return strings.Contains(a.sbx("status").String(), hangs+": no answer")
	})
}
