package document_test

import (
	"fmt"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

func ExampleParse() {
	_, err := document.Parse("/etc/sandboxd/profile.d/10-site.toml", []byte("[paths]\nhiden = [\"/srv/secret\"]\n"))
	fmt.Println(err)
	// Output:
	// profile document /etc/sandboxd/profile.d/10-site.toml:2:1: unknown key "paths.hiden": did you mean "paths.hide"?
}

func ExampleDocument_Profile() {
	d, err := document.Parse("site.toml", []byte(`
[paths]
hide = ["~/.ssh"]
protect = ["LICENSE"]

[network]
mode = "none"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ceiling, err := d.Profile(document.Variables{Project: "/home/ann/app", Home: "/home/ann", Tmp: "/tmp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ceiling.Allows(profile.OpWrite, "/home/ann/app/vendor/LICENSE").Why)
	fmt.Println(ceiling.Allows(profile.OpWrite, "/home/ann/app/main.go").Why)
	// Output:
	// write /home/ann/app/vendor/LICENSE is not allowed by protect /home/ann/app/**/LICENSE (site.toml:4)
	// write /home/ann/app/main.go is allowed by allow read+write+exec / (site.toml)
}

func ExampleDerive() {
	session, err := document.Derive(document.Tools{
		Project: "/home/ann/app", Trusted: true, Home: "/home/ann", Presets: []string{"go"},
		Cache:  "/home/ann/.cache/sandboxd/app",
		Limits: profile.DefaultLimits(), Environment: profile.DefaultEnvironment(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/home/ann/app/main.go", "/home/ann/app/.git/config", "/home/ann/.cache/sandboxd/app/x",
		"/home/ann/go/bin/tool", "/etc/hosts"} {
		fmt.Println(session.Allows(profile.OpWrite, path).Why)
	}
	// Output:
	// write /home/ann/app/main.go is allowed by allow read+write+exec /home/ann/app (trusted project)
	// write /home/ann/app/.git/config is not allowed by protect /home/ann/app/**/.git/config (built-in)
	// write /home/ann/.cache/sandboxd/app/x is allowed by allow read+write+exec /home/ann/.cache/sandboxd/app (preset go)
	// write /home/ann/go/bin/tool is not allowed by allow read+exec /home/ann/go/bin (preset go)
	// write /etc/hosts is not allowed by allow read+exec /etc (built-in)
}

func ExampleOf() {
	p, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
			{Kind: profile.Hide, Path: "/usr", Name: "*.key"},
		},
		Limits: profile.Limits{Memory: 1 << 30},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := document.Of(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := d.Print()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// base = "nothing"
	//
	// [paths]
	// exec = ["/usr"]
	// hide = ["/usr/**/*.key"]
	//
	// [network]
	// mode = "none"
	//
	// [limits]
	// memory = "1GiB"
	//
	// [system]
	// processes = "own"
}
