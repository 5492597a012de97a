package document_test

import (
	"testing"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

func session(t testing.TB) profile.Profile {
	t.Helper()
	p, err := document.Derive(document.Tools{
		Project: "/home/ann/src/app", Trusted: true, Home: "/home/ann",
		Presets: []string{"go", "node", "python", "rust", "c"},
		Limits:  profile.DefaultLimits(), Network: profile.Network{Mode: profile.NetLoopback, ListenAny: true},
		Environment: profile.DefaultEnvironment(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func BenchmarkDerive(b *testing.B) {
	for b.Loop() {
		session(b)
	}
}

func BenchmarkIntersect(b *testing.B) {
	p, q := session(b), profile.Everything()
	for b.Loop() {
		p.Intersect(q)
	}
}

func BenchmarkWith(b *testing.B) {
	p := session(b)
	for b.Loop() {
		if _, err := p.With(profile.Grant{Path: "/srv/data", Access: profile.Read | profile.Write}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWithin(b *testing.B) {
	p, q := session(b), profile.Everything()
	for b.Loop() {
		p.Within(q)
	}
}

func BenchmarkAllows(b *testing.B) {
	p := session(b)
	for b.Loop() {
		p.Allows(profile.OpWrite, "/home/ann/src/app/cmd/tool/main.go")
	}
}
