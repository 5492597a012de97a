package acceptance

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// counted are the daemon's arguments with which it can be asked for its numbers.
func (a *actor) counted() []string {
	return []string{"--metrics", filepath.Join(a.dir, "metrics.sock")}
}

// number asks the daemon for one of its numbers (R-OP-04). Its own user can't
// look into /proc for them: the daemon is not dumpable.
func (a *actor) number(name string) int64 {
	a.t.Helper()
	socket := filepath.Join(a.dir, "metrics.sock")
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get("http://sandboxd/metrics")
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				a.t.Fatal(err)
			}
			return int64(n)
		}
	}
	a.t.Fatalf("the daemon reports no %s:\n%s", name, text)
	return 0
}

// descriptors is how many the daemon has open.
func (a *actor) descriptors() int64 {
	a.t.Helper()
	return a.number("process_open_fds")
}

// sheds waits until the daemon has closed what a flood opened. It keeps a few descriptors that it opens when it
// first needs them: the workers' program, the table of mounts, the watch of the configuration.
func (a *actor) sheds(t *testing.T, before int64) {
	t.Helper()
	const kept = 5
	eventually(t, "the daemon's descriptors are closed", func() bool { return a.descriptors() <= before+kept })
}
