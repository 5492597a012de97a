# A Go test suite with a server.
printf 'module example.org/m\n\ngo 1.21\n' > go.mod
cat > m_test.go <<'T'
package m

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hi") }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(r.Body); string(b) != "hi" {
		t.Fatalf("%q", b)
	}
}
T
#run
go test -count=1 ./... | cut -f1,2
