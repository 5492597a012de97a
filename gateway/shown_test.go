package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"

	"sandboxd/ipc"
)

// R-UX-05: no answer with another's text reaches the page as it was written: package display has each operation's.
func TestEveryAnswerIsShown(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "shown.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The rest of the answers hold the daemon's own words, or names and paths that the user chose.
	made := map[string]bool{"Version": true, "Turn": true, "CloseSession": true, "ResetStats": true, "VerifyAudit": true,
		"Mode": true, "SetMode": true, "Trust": true, "Invite": true, "FrontEnds": true, "AddFrontEnd": true, "Reload": true,
		"Setting": true, "Change": true} // no front end has the last two
	for _, d := range f.Decls {
		if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
			made[m.Name.Name] = true
		}
	}
	for _, backend := range []reflect.Type{reflect.TypeFor[ipc.AnyBackend](), reflect.TypeFor[ipc.ApproverBackend]()} {
		for i := range backend.NumMethod() {
			m := backend.Method(i)
			if m.Type.NumOut() == 2 && !made[m.Name] {
				t.Errorf("%s: its answer reaches the page without package display", m.Name)
			}
		}
	}
}
