package profile_test

import (
	"fmt"

	"sandboxd/profile"
)

func Example() {
	session, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/home/ann/app"},
			{Kind: profile.Protect, Path: "/home/ann/app", Name: ".git/hooks"},
			{Kind: profile.Private, Path: "/tmp"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/home/ann/app/main.go", "/home/ann/app/lib/.git/hooks/pre-commit", "/etc/passwd"} {
		fmt.Println(session.Allows(profile.OpWrite, path).Why)
	}
	// Output:
	// write /home/ann/app/main.go is allowed by allow read+write+exec /home/ann/app
	// write /home/ann/app/lib/.git/hooks/pre-commit is not allowed by protect /home/ann/app/**/.git/hooks
	// write /etc/passwd is not allowed: no rule grants it
}

func ExampleProfile_Intersect() {
	session, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/srv"},
			{Kind: profile.Private, Path: "/tmp"},
		},
		Network: profile.Network{Mode: profile.NetFull},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	operator, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/"},
			{Kind: profile.Hide, Path: "/srv", Name: "*.key"},
			{Kind: profile.Protect, Path: "/srv/www"},
		},
		Network: profile.Network{Mode: profile.NetLoopback},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(session.Intersect(operator))
	// Output:
	// allow read+write /srv
	// protect read /srv/www
	// private read+write+exec /tmp
	// hide /srv/**/*.key
	// guard hide /srv/**/*.key
	// guard protect /srv/www
	// network loopback
	// processes own
}

func ExampleProfile_With() {
	session, err := profile.New(profile.Spec{
		Rules:  []profile.Rule{{Kind: profile.Private, Path: "/home/ann"}},
		Guards: []profile.Rule{{Kind: profile.Hide, Path: "/home/ann/.ssh"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	wider, err := session.With(profile.Grant{Path: "/home/ann", Access: profile.Read, Origin: "granted once"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(session.Allows(profile.OpRead, "/home/ann/notes").Why)
	fmt.Println(wider.Allows(profile.OpRead, "/home/ann/notes").Why)
	fmt.Println(wider.Allows(profile.OpRead, "/home/ann/.ssh/id_rsa").Why)
	// Output:
	// read /home/ann/notes is allowed by private /home/ann, which is the sandbox's own
	// read /home/ann/notes is allowed by allow read /home/ann (granted once)
	// read /home/ann/.ssh/id_rsa is not allowed by hide /home/ann/.ssh
}

func ExampleProfile_Explain() {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/srv", Origin: "operator ceiling.toml:3"},
		{Kind: profile.Protect, Path: "/srv", Name: ".git/hooks", Origin: "built-in"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p.Explain("/srv/repo/.git/hooks"))
	// Output:
	// /srv/repo/.git/hooks: the host's, protected, read
	//   from /srv on: read+write by "allow read+write /srv" (operator ceiling.toml:3)
	//   from /srv/repo/.git/hooks on: read by "protect /srv/**/.git/hooks" (built-in)
	//   allowed: read, list, stat
	//   refused: write, create, remove, metadata, exec, connect, link
}

func ExampleProfile_Exceeds() {
	asked, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read,
		Path: "/srv"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ceiling, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read, Path: "/"},
		{Kind: profile.Hide, Path: "/", Name: "private/*.key"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(asked.Within(ceiling), asked.Exceeds(ceiling)[0])
	// Output:
	// false path /srv/private/.key
}

// A mechanism that has to find protected names in a real tree walks it with a cursor, and stops
// where nothing below can change.
func ExampleCursor() {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/w"},
		{Kind: profile.Hide, Path: "/w/sub", Name: "*.key"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := p.At("/w/sub")
	for _, entry := range []string{"readme", "a.key"} {
		kind, access, _ := c.Child(entry).Effective()
		fmt.Println(entry, c.Child(entry).Turned(), kind, access)
	}
	fmt.Println(c.Child("a.key").Settled(), p.At("/w/other").Settled())
	// Output:
	// readme false allow read+write
	// a.key true hide nothing
	// true true
}

func ExampleEnvironment_Apply() {
	e := profile.DefaultEnvironment()
	e.Pass = append(e.Pass, "NPM_*")
	e.Set = map[string]string{"PATH": "/usr/bin:/bin"}
	env, dropped := e.Apply([]string{"LANG=C.UTF-8", "PATH=/home/ann/bin", "NPM_CONFIG_COLOR=no", "NPM_TOKEN=abc",
		"EDITOR=vi"})
	fmt.Println(env)
	fmt.Println(dropped)
	// Output:
	// [LANG=C.UTF-8 NPM_CONFIG_COLOR=no PATH=/usr/bin:/bin]
	// [EDITOR NPM_TOKEN]
}
