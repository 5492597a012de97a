package bwrap_test

import (
	"fmt"
	"io/fs"
	"testing/fstest"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// A project that may be written, with its hooks protected and its secrets
// hidden, on a machine that is given here as a snapshot.
func ExampleCompile() {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/bin"},
		{Kind: profile.Private, Path: "/tmp"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/src/app"},
		{Kind: profile.Protect, Path: "/src/app", Name: ".git/hooks"},
		{Kind: profile.Hide, Path: "/src/app/secrets"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	host := fstest.MapFS{
		"usr/bin/sh":                         {},
		"bin":                                {Data: []byte("usr/bin"), Mode: fs.ModeSymlink | 0o777},
		"src/app/.git/hooks/pre-commit":      {},
		"src/app/secrets/key":                {},
		"src/app/web/node_modules/left/.git": {},
	}
	result, err := bwrap.Compile(p, nil, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: host, Euid: 1000, Descriptor: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Layout {
		fmt.Println(m)
	}
	fmt.Println(result.Mounts, "of them protect")
	fmt.Printf("%q\n", result.Args[len(result.Args)-9:])
	// Output:
	// directory /
	// link /bin
	// directory /src
	// private /tmp
	// read-only /usr
	// writable /src/app
	// pin /src/app/.git
	// hidden directory /src/app/secrets
	// read-only /src/app/.git/hooks
	// 3 of them protect
	// ["/src/app/.git/hooks" "/src/app/.git/hooks" "--remount-ro" "/src/app/secrets" "--chmod" "0755" "/" "--remount-ro" "/"]
}

func ExampleParseVersion() {
	v, err := bwrap.ParseVersion("bubblewrap 0.8.0\n")
	fmt.Println(v, err, v.Less(bwrap.Oldest))
	// Output: 0.8.0 <nil> false
}
