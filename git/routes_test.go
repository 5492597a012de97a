package git

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func routesOf(t *testing.T, text string) Routes {
	t.Helper()
	list, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return RoutesOf(list)
}

const routed = `[remote "origin"]
	url = https://h/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "fork"]
	url = https://h/b.git
[branch "main"]
	remote = origin
	merge = refs/heads/main
[submodule "s"]
	url = https://h/s.git
`

// What existed and leads elsewhere is named, and ordinary work is not. R-SH-03
func TestRedirected(t *testing.T) {
	for add, want := range map[string]string{
		"": "",
		"[remote \"origin\"]\n\turl =\n\turl = https://evil/x\n":              "remote origin leads to https://evil/x",
		"[remote \"origin\"]\n\turl = https://u:secret@evil/x\n":              "https://h/a.git https://evil/x instead",
		"[remote \"origin\"]\n\tpushurl = https://evil/x\n":                   "remote origin pushes to https://evil/x",
		"[remote \"origin\"]\n\tmirror = true\n":                              "other refspecs",
		"[remote \"origin\"]\n\tpush = +refs/heads/*\n":                       "other refspecs",
		"[remote \"origin\"]\n\tfetch = +refs/*:refs/*\n":                     "other refspecs",
		"[remote]\n\tpushDefault = fork\n":                                    "branch main pushes to https://h/b.git",
		"[branch \"main\"]\n\tremote = https://evil/x\n":                      "branch main leads to https://evil/x",
		"[branch \"main\"]\n\tpushRemote = fork\n":                            "branch main pushes to https://h/b.git",
		"[remote \"evil\"]\n\turl = https://evil/x\n":                         "",
		"[remote \"e\"]\n\turl = https://evil/x\n[remote]\n\tpushdefault = e": "branch main pushes to https://evil/x",
		"[branch \"old\"]\n\tremote = fork\n":                                 "",
		"[branch \"old\"]\n\tremote = https://evil/x\n":                       "branch old leads to https://evil/x",
		"[branch \"new\"]\n\tremote = https://evil/x\n":                       "",
		"[submodule \"s\"]\n\turl = https://evil/s":                           "submodule s fetches from https://evil/s",
		"[submodule \"t\"]\n\turl = https://evil/s\n[user]\n\tname = n\n":     "",
		"[url \"https://evil\"]\n\tinsteadOf = https://h":                     "remote fork leads to https://evil/b.git",
		"[url \"https://evil\"]\n\tpushInsteadOf = https://h":                 "remote fork pushes to https://evil/b.git",
		"[branch \"main\"]\n\tmerge = x\n[branch \"b\"]\n\trebase = true":     "",
	} {
		got := routesOf(t, routed).Redirected(routesOf(t, routed+add), func(b string) bool { return b == "old" })
		if text := strings.Join(got, "; "); !strings.Contains(text, want) || (want == "") != (text == "") {
			t.Errorf("%s: %q, want %q", add, text, want)
		}
	}
	none := func(string) bool { return true }
	first := routed[:strings.Index(routed, "[branch")] + "[branch \"main\"]\n\tremote = fork\n"
	if got := routesOf(t, "").Redirected(routesOf(t, first), none); got != nil {
		t.Errorf("a first remote: %q", got)
	}
	renamed := strings.ReplaceAll(routed, "origin", "up")
	if got := routesOf(t, routed).Redirected(routesOf(t, renamed), none); got != nil {
		t.Errorf("a remote with another name: %q", got)
	}
	again := renamed + "[remote \"origin\"]\n\turl = https://evil/x\n"
	if got := routesOf(t, renamed).Redirected(routesOf(t, again), none); len(got) != 1 {
		t.Errorf("a remote of the name that counts without words: %q", got)
	}
	sole := "[remote \"up\"]\n\turl = https://h/a.git\n"
	if got := routesOf(t, sole).Redirected(routesOf(t, sole+"[remote \"origin\"]\n\turl = https://evil/x\n"),
		none); len(got) != 1 {
		t.Errorf("a remote that counts without words: %q", got)
	}
	if got := routesOf(t, sole).Redirected(Routes{}, none); len(got) == 0 {
		t.Error("a remote that is gone")
	}
}

// Git itself pushes where Routes says.
func TestRoutesAsGit(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "main", ".")
	run(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "i")
	for _, name := range []string{"a", "b", "c"} {
		run(t, dir, "init", "-q", "--bare", dir+"/"+name)
	}
	to := regexp.MustCompile(`(?m)^To (.*)$`)
	for _, step := range []string{
		"remote add up " + dir + "/a", "remote add origin " + dir + "/b", "config branch.main.remote up",
		"config branch.main.pushRemote " + dir + "/c", "config --unset branch.main.pushRemote",
		"config remote.pushDefault origin", "config url." + dir + "/.insteadOf x/", "remote set-url --push origin x/c",
		"config remote.pushDefault up", "config url." + dir + "/c.pushInsteadOf " + dir + "/a",
	} {
		run(t, dir, strings.Fields(step)...)
		out := run(t, dir, "push", "--porcelain", "-n", "--all")
		settings, err := Reader{Host: Disk}.Config(Repository{Dir: dir + "/.git", Common: dir + "/.git", Worktree: dir})
		if err != nil {
			t.Fatal(err)
		}
		want := to.FindStringSubmatch(out)
		if got := RoutesOf(settings).To("", "main"); want == nil || !slices.Equal(got, want[1:]) {
			t.Errorf("after %s: %q, git: %s", step, got, out)
		}
	}
}
