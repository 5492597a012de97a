package acceptance

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tasks returns the commands of each of the five tasks of docs/questions.md, by the task's heading. R-UX-07: a task
// takes at most three commands, and the help has each verb and flag that it needs.
func tasks(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/questions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Five tasks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	list := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)### ([^\n]+)\n.*?```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		list[m[1]] = strings.Split(strings.TrimSpace(m[2]), "\n")
		if len(list[m[1]]) > 3 {
			t.Errorf("%s takes %d commands, want at most 3", m[1], len(list[m[1]]))
		}
	}
	if len(list) != 5 {
		t.Fatalf("docs/questions.md has %d tasks, want 5: %v", len(list), list)
	}
	return list
}

// helped wants sbx help to have the verbs of a command line, and their help to have its flags.
func (a *actor) helped(line string) {
	a.t.Helper()
	line, _, _ = strings.Cut(line, " '") // what follows is another command
	words, help, path := strings.Fields(line)[1:], a.sbx("help").out, []string{"help"}
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "-") && !regexp.MustCompile(`(^|[ ,])`+name+`\b`).MatchString(help):
			a.t.Errorf("%s: %s is not in the help of %v", line, name, path[1:])
		case !strings.HasPrefix(word, "-") && regexp.MustCompile(`(?m)^ +`+regexp.QuoteMeta(word)+` `).MatchString(help):
			path = append(path, word)
			help = a.sbx(path...).out
		}
	}
	if len(path) == 1 {
		a.t.Errorf("%s: sbx help lacks the verb", line)
	}
}

// task types the commands of a task, and returns what the last one printed.
func (a *actor) task(name string, list map[string][]string) (last result) {
	a.t.Helper()
	id := regexp.MustCompile(`(?m)^(?:[a-z]-)?[0-9A-Za-z-]{6,}`)
	for _, line := range list[name] {
		a.helped(line)
		if strings.Contains(line, "ID") {
			line = strings.ReplaceAll(line, "ID", id.FindString(strings.Join(strings.Split(last.out, "\n")[1:], "\n")))
		}
		ended := make(chan result, 1)
		go func() { ended <- a.do(nil, "/bin/sh", "-c", "PATH="+a.dir+":"+bin+":$PATH; "+line) }()
		if strings.Contains(line, " undo ") { // it asks, as at a terminal
			a.sbx("approve", a.pending(1)[0].ID, "--allow", "--confirm")
		}
		if last = <-ended; last.code != 0 {
			a.t.Errorf("%s: %s: %s", name, line, last)
		}
	}
	return last
}

// The tasks of docs/questions.md hold as they are written. R-UX-07 R-AP-08: an answer of the scope project holds in
// every session of that project, and in no other.
func TestFiveTasks(t *testing.T) {
	t.Parallel()
	list := tasks(t)
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Write([]byte("HELLO\n"))
		}))
		a.configured(asking)
		a.sbx("trust", a.project)
		const get = "curl -sS http://one.example/"
		wait := a.begin("run", "-c", get)
		a.pending(1)
		a.task("Allow a host for one project", list)
		if r := wait(); r.out != "HELLO\n" {
			t.Errorf("allowed: %s", r)
		}
		if r := a.sbx("run", "--session", a.joined(), "-c", get); r.out != "HELLO\n" {
			t.Errorf("in another session of the project: %s", r)
		}
		other := filepath.Join(a.dir, "other")
		a.sh("mkdir " + other)
		project := a.project
		a.project = other
		wait = a.begin("run", "-c", get)
		a.project = project
		a.sbx("approve", a.pending(1)[0].ID, "--deny")
		if r := wait(); strings.Contains(r.out, "HELLO") {
			t.Errorf("in another project: %s", r)
		}
		a.task("Take a grant back", list)
		wait = a.begin("run", "-c", get)
		a.sbx("approve", a.pending(1)[0].ID, "--deny")
		if r := wait(); strings.Contains(r.out, "HELLO") {
			t.Errorf("after the grant was taken back: %s", r)
		}

		if r := a.allowed("echo one > kept"); r.code != 0 || !a.there("kept") {
			t.Fatal(r)
		}
		if a.task("Undo the last command", list); a.there("kept") {
			t.Error("the command was not undone")
		}

		wait = a.begin("run", "-c", "rm -r build")
		a.sbx("approve", a.pending(1)[0].ID, "--deny")
		wait()
		if r := a.task("See why something asked", list); !strings.Contains(r.out, "rule dangerous: recursive delete") {
			t.Errorf("the log does not say why: %s", r)
		}
	})
}

// The task that needs a browser, in a browser: R-UX-03.
func TestTaskInBrowser(t *testing.T) {
	t.Parallel()
	list := tasks(t)
	a := newActor(t, "")
	t.Cleanup(func() { a.sbx("stop", "--now") })
	a.sbx("trust", a.project)
	// The actor's home is the machine's; sbx reads this in the place of ~/.config.
	config := a.dir + "/config.toml"
	a.sh("printf '#!/bin/sh\\nexec " + bin + "/sbx --config " + config + " \"$@\"\\n' > " + a.dir + "/sbx\n" +
		"chmod 755 " + a.dir + "/sbx\n" +
		"cat > " + config + " <<'E'\n[gateway]\nlisten = \"127.0.0.1:0\"\nE")
	r := a.task("Answer from the browser", list)
	a.browse("task.mjs", "ADDRESS="+strings.TrimSpace(r.out))
}
