package landlock_test

import (
	"fmt"
	"testing/fstest"

	"sandboxd/landlock"
	"sandboxd/profile"
)

// A hidden file inside a project: its neighbours are granted one by one.
func ExampleCompile() {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
		{Kind: profile.Allow, Access: profile.Read, Path: "/src/app"},
		{Kind: profile.Hide, Path: "/src/app/.env"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	host := fstest.MapFS{"usr/bin/sh": {}, "src/app/.env": {}, "src/app/main.go": {}, "src/app/web/index.html": {}}
	ruleset, gaps, err := landlock.Compile(p, 7, landlock.Host{FS: host, Euid: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range ruleset.Paths {
		fmt.Println(rule.Path, rule.Access)
	}
	for _, g := range gaps {
		if g.Protection == "narrowed" {
			fmt.Println(g.Object, "is narrowed")
		}
	}
	// Output:
	// /src/app read_dir
	// /src/app/main.go read_file
	// /src/app/web read_file
	// /usr execute,read_file,read_dir
	// /src/app is narrowed
}
