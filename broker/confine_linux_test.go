package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// confinedRole is the variable that makes this test binary the broker of [TestConfine].
const confinedRole = "BROKER_TEST_CONFINED"

func TestMain(m *testing.M) {
	if os.Getenv(confinedRole) != "" {
		playBroker(os.Args[1], os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// attempts are what a broker in dir tries; from is the Landlock ABI that refuses it, 0: none may.
var attempts = []struct {
	name string
	from int
	try  func(dir, listener string) error
}{
	{"read a user's file", 1, func(dir, _ string) error { _, err := os.ReadFile(own(dir) + "/private"); return err }},
	{
		"make a file in a user's directory",
		1,
		func(dir, _ string) error { return os.WriteFile(own(dir)+"/planted", nil, 0o600) },
	},
	{"remove a user's socket", 1, func(dir, _ string) error { return os.Remove(own(dir) + "/old.sock") }},
	{"make a file beside the heads", 1, func(dir, _ string) error { return os.WriteFile(dir+"/beside", nil, 0o600) }},
	{"make a directory among the heads", 1, func(dir, _ string) error { return os.Mkdir(dir+"/heads/d", 0o700) }},
	{"list the host's root", 1, func(_, _ string) error { _, err := os.ReadDir("/"); return err }},
	{"execute a program", 1, func(_, _ string) error { return exec.Command("/bin/true").Run() }},
	{"listen on TCP", 4, func(_, _ string) error { return listenTCP() }},
	{"connect by TCP", 4, func(_, at string) error { return hangUp(net.Dial("tcp", at)) }},
	{"signal another process", 6, func(_, _ string) error { return syscall.Kill(os.Getppid(), 0) }},
	{"connect to an abstract socket", 6, func(dir, _ string) error { return hangUp(net.Dial("unix", "@"+dir)) }},
	{"keep a head", 0, func(dir, _ string) error { return confined(dir).keep(7, "5:"+strings.Repeat("a", 64)) }},
	{"halve a file of heads", 0, func(dir, _ string) error { return halve(dir+"/heads/7", []string{"a", "b"}) }},
	{
		"connect to a launcher",
		0,
		func(dir, _ string) error { return hangUp(net.Dial("unix", own(dir)+"/launcher.sock")) },
	},
	{"look a user up", 0, func(_, _ string) error { _, err := user.Lookup("nobody"); return err }},
	{"list the users", 0, func(dir, _ string) error {
		if got := confined(dir).Users(); len(got) != 1 {
			return fmt.Errorf("got %q", got)
		}
		return nil
	}},
}

func own(dir string) string { return filepath.Join(dir, "users", strconv.Itoa(os.Getuid())) }

func confined(dir string) *Broker {
	return &Broker{UsersDir: dir + "/users", HeadsDir: dir + "/heads", Log: slog.New(slog.DiscardHandler)}
}

func hangUp(c net.Conn, err error) error {
	if err == nil {
		c.Close()
	}
	return err
}

func listenTCP() error {
	var config net.ListenConfig
	config.SetMultipathTCP(false) // Landlock restricts TCP alone
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	return err
}

// playBroker makes the attempts on a thread that ran before Confine, and prints what became of each.
func playBroker(dir, listener string) {
	restricted, outcome := make(chan struct{}), make(chan map[string]string)
	go func() {
		runtime.LockOSThread()
		<-restricted
		said := map[string]string{}
		for _, a := range attempts {
			if err := a.try(dir, listener); err != nil {
				said[a.name] = err.Error()
			}
		}
		outcome <- said
	}()
	if os.Getenv(confinedRole) == "yes" {
		if err := confined(dir).Confine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	close(restricted)
	json.NewEncoder(os.Stdout).Encode(<-outcome)
}

// R-OP-05: on every thread the broker can do what it needs, and nothing of what it must not;
// a process that is not restricted can do all of it.
func TestConfine(t *testing.T) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"no", "yes"} {
		said := playedBroker(t, role)
		for _, a := range attempts {
			refused := said[a.name] != ""
			if want := role == "yes" && a.from > 0 && abi >= a.from; refused != want {
				t.Errorf("confined %s: %s: got %q, want refused %v", role, a.name, said[a.name], want)
			}
			if refused && !strings.Contains(said[a.name], "permission denied") &&
				!strings.Contains(said[a.name], "not permitted") {
				t.Errorf("confined %s: %s: got %q, want a refusal of the kernel", role, a.name, said[a.name])
			}
		}
	}
}

// playedBroker returns the errors of the attempts in a fresh directory, by name.
func playedBroker(t *testing.T, role string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{own(dir), dir + "/heads"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/private", "/old.sock"} {
		if err := os.WriteFile(own(dir)+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{own(dir) + "/launcher.sock", "@" + dir} {
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	cmd := exec.Command("/proc/self/exe", dir, tcp.Addr().String())
	cmd.Env = []string{confinedRole + "=" + role}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	said := map[string]string{}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said
}
