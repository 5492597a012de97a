package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandboxd/broker"
	"sandboxd/config"
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
	words := append(regexp.MustCompile(`[a-z]+(-[a-z]+)*`).FindAllString(strings.SplitN(strings.SplitN(usage, "\n\n",
		2)[0], "\n", 2)[1], -1),
		stdioName, broker.AgentName, broker.ApproverName, broker.LauncherName, broker.HeadsName, broker.MetricsName)
	for _, w := range words {
		if !regexp.MustCompile(`\b` + w + `\b`).MatchString(page) {
			t.Errorf("the page lacks %q", w)
		}
	}
}

// R-UX-07: mandoc has nothing to say about the pages that are written by hand, nor about that of the configuration.
func TestManualPagesAreClean(t *testing.T) {
	pages, err := filepath.Glob("../../packaging/man/*")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	texts := map[string][]byte{}
	for _, p := range pages {
		if texts[filepath.Base(p)], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := config.Manual(&b, "1.0"); err != nil {
		t.Fatal(err)
	}
	texts["sandboxd.toml.5"] = b.Bytes()
	for name, text := range texts {
		text = bytes.Replace(text, []byte(`""`), []byte(`"2026-01-02"`), 1) // as packaging/documents.sh does
		cmd := exec.Command("mandoc", "-Tlint")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
