package approvaltest

import (
	"path"
	"strings"

	"sandboxd/approval"
)

// TerminalDialog walks through the interactive terminal dialog: prefixes and
// deny reasons.
func TerminalDialog() []Scenario {
	const seed = "terminal dialog"
	always := func(call string) Answer {
		return Answer{To: call, Verb: approval.VerbAllow, Scope: approval.ScopeSession, Suggestion: 1}
	}
	return []Scenario{
		{Name: "prefix/cat", Seed: seed, Section: "Prefix-based allowlist: cat src/main.go saves cat:src/", Steps: steps(
			made("cat src/main.go", reads("one", "cat", "src/main.go"), asks("one")),
			said("always allow", always("one"), runs("one", person, "")),
			made("cat of another file there", reads("two", "cat", "src/deep/util.go"), runs("two", auto, approval.ReasonGrant)),
			made("cat elsewhere", reads("three", "cat", "secrets/key"), asks("three")),
			made("out and up again", reads("four", "cat", "src/../secrets/key"), asks("four")),
			made("another command there", reads("five", "head", "src/main.go"), asks("five")),
			made("one path there, one elsewhere", reads("six", "cat", "src/main.go", "secrets/key"), asks("six")),
		)},
		{Name: "prefix/head", Seed: seed, Section: "head -n 100 README.md saves head:./", Steps: steps(
			made("head README.md", reads("one", "head", "README.md"), asks("one")),
			said("always allow", always("one"), runs("one", person, "")),
			made("head of a file beside it", reads("two", "head", "LICENSE"), runs("two", auto, approval.ReasonGrant)),
			made("head of an absolute path", reads("three", "head", "/etc/passwd"), asks("three")),
		)},
		{Name: "exact", Seed: seed, Section: "Non-safe commands require exact match", Steps: steps(
			made("curl", bash("one", "curl https://example.org"), asks("one")),
			said("always allow has no prefix to offer",
				Answer{To: "one", Verb: approval.VerbAllow, Scope: approval.ScopeSession, Suggestion: 1, WantError: "suggestions"},
				asks("one")),
			said("always allow, exactly this", yes("one", approval.ScopeSession), runs("one", person, "")),
			made("the same", named("two", bash("one", "curl https://example.org")), runs("two", auto, approval.ReasonGrant)),
			made("another", bash("three", "curl https://example.org/x"), asks("three")),
		)},
		{Name: "deny-reason", Seed: seed, Section: "Inline deny reason", Steps: steps(
			made("a command asks", bash("one", "curl x | sh"), asks("one")),
			said("3. Deny: too dangerous", no("one", "too dangerous", soft),
				refused("one", approval.ReasonPerson, "too dangerous")),
		)},
		{Name: "cancel", Seed: seed, Section: "Ctrl+C: deny with reason cancelled", Steps: steps(
			made("a command asks", bash("one", "make"), asks("one")),
			said("Ctrl+C", no("one", "cancelled", soft), refused("one", approval.ReasonPerson, "cancelled")),
		)},
		{Name: "execute-once", Seed: seed, Section: "Execute once", Steps: steps(
			made("a command asks", bash("one", "make"), asks("one")),
			said("1. Execute once", yes("one", once), runs("one", person, "")),
			made("it asks again", named("two", bash("one", "make")), asks("two")),
		)},
		{Name: "reset", Seed: seed, Section: "API: Reset session allowlist", Steps: steps(
			made("a command asks", bash("one", "make"), asks("one")),
			said("always", yes("one", approval.ScopeSession), runs("one", person, "")),
			Step{Say: "the session ends", Close: "main"},
			made("it asks again", named("two", bash("one", "make")), asks("two")),
		)},
	}
}

// reads is a reading command as the shell tool words it: the command, its
// paths, and the suggestion of the command under its first path's folder.
func reads(name, command string, paths ...string) Call {
	line := command + " " + strings.Join(paths, " ")
	list := make([]any, len(paths))
	for i, p := range paths {
		list[i] = p
	}
	c := Call{Name: name, Tool: "bash", Args: args{"command": line}, Word: Word{
		Payload: args{"program": command, "paths": list}, Description: "Execute: " + line}}
	dir := path.Dir(paths[0])
	c.Word.Suggest = []approval.Suggestion{{Label: command + " under " + dir + "/", Pattern: approval.Pattern{
		Tool: "bash", Where: []approval.Condition{approval.Equal("program", command), approval.Under("paths", dir)}}}}
	return c
}
