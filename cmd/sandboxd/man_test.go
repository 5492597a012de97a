package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandboxd/broker"
)

// R-UX-07: the manual page has every flag and verb of --help, and no other, and every
// name by which a socket is known.
func TestManualPageIsTheHelp(t *testing.T) {
	b, err := os.ReadFile("../../packaging/man/sandboxd.8")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(b), `\-`, "-")
	flags := regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)
	for _, f := range flags.FindAllString(usage, -1) {
		if !slices.Contains(flags.FindAllString(page, -1), f) {
			t.Errorf("the page lacks %s", f)
		}
	}
	for _, f := range flags.FindAllString(page, -1) {
		if f != "--user" && f != "--key" && f != "--now" && !strings.Contains(usage, f) { // of sbx and systemctl
			t.Errorf("--help lacks %s", f)
		}
	}
	words := append(regexp.MustCompile(`[a-z]+(-[a-z]+)*`).FindAllString(strings.SplitN(strings.SplitN(usage, "\n\n", 2)[0], "\n", 2)[1], -1),
		stdioName, broker.AgentName, broker.ApproverName, broker.LauncherName, broker.HeadsName, broker.MetricsName)
	for _, w := range words {
		if !regexp.MustCompile(`\b` + w + `\b`).MatchString(page) {
			t.Errorf("the page lacks %q", w)
		}
	}
}
