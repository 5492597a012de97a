package supervisor

import (
	"slices"
	"testing"

	"sandboxd/sandbox"
	"sandboxd/supervisor/aftermath"
)

// R-OS-11: what could be made and was taken out afterwards was not refused.
func TestTakenIsNotRefused(t *testing.T) {
	of := func(kind, object string) Violation { return Violation{Kind: kind, Op: "create", Object: object} }
	got := notTaken([]Violation{of(sandbox.RefusedPath, "/p/a/.envrc"), of(sandbox.RefusedPath, "/p/a/.git/hooks/x"),
		of(sandbox.RefusedPath, "/p/a/.git"), of(sandbox.RefusedPath, "/p/kept"), of(sandbox.RefusedNetwork, "/p/a/.envrc")},
		[]aftermath.Item{{Path: "/p/a/.envrc"}, {Path: "/p/a/.git/hooks"}, {Path: "/p/kept", Kept: true}})
	want := []Violation{of(sandbox.RefusedPath, "/p/a/.git"), of(sandbox.RefusedPath, "/p/kept"),
		of(sandbox.RefusedNetwork, "/p/a/.envrc")}
	if !slices.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}
