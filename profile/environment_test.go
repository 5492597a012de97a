package profile_test

import (
	"slices"
	"testing"

	"sandboxd/profile"
	"sandboxd/secret"
)

// R-OS-08
func TestLooksSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN",
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SSH_AUTH_SOCK", "DATABASE_URL",
		"GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "VAULT_TOKEN", "SENTRY_DSN", "KUBECONFIG",
		"DOCKER_AUTH_CONFIG", "api_key", "STRIPE_KEY", "CI_JOB_JWT", "SLACK_WEBHOOK_URL", "PIP_INDEX_PASS", "GITLAB_PAT",
		"TWINE_PASSWORD", "CARGO_REGISTRY_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY",
	} {
		if !secret.Name(name) {
			t.Errorf("%s looks harmless", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "GOOS", "GOFLAGS", "EDITOR", "PWD", "NODE_ENV",
		"KEYBOARD", "MONKEY", "SHELL", "GIT_AUTHOR_NAME"} {
		if secret.Name(name) {
			t.Errorf("%s looks secret", name)
		}
	}
}

// R-OS-08: an allowlist; prefixes pass no secret, by name or by value; a full
// name does; block and set beat pass.
func TestEnvironmentApply(t *testing.T) {
	t.Parallel()
	e := profile.Environment{
		Pass:  []string{"GO*", "LANG", "GH_TOKEN", "NPM_*", "X*", "BOTH"},
		Block: []string{"GOFLAGS", "X_OFF*"},
		Set:   map[string]string{"CI": "1", "BOTH": "set", "X_OFF1": "never"},
	}
	env, dropped := e.Apply([]string{
		"GOOS=linux", "GOFLAGS=-toolexec=evil", "GOPROXY=https://user:pass@proxy", "GOPATH=/first", "GOPATH=/last", "LANG=C",
		"GH_TOKEN=ghp_abc", "NPM_TOKEN=npm_x", "NPM_CONFIG_LOGLEVEL=warn", "X_URL=https://example.com/a:b@c", "X_OFF=1",
		"HOME=/home/ann", "X_RAW=ghp_abcdef", "BOTH=host", "malformed", "=strange",
		"X_PEM=-----BEGIN OPENSSH PRIVATE KEY-----",
	})
	want := []string{"BOTH=set", "CI=1", "GH_TOKEN=ghp_abc", "GOOS=linux", "GOPATH=/last", "LANG=C",
		"NPM_CONFIG_LOGLEVEL=warn", "X_URL=https://example.com/a:b@c"}
	if !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
	wantDropped := []string{"GOFLAGS", "GOPROXY", "HOME", "NPM_TOKEN", "X_OFF", "X_PEM", "X_RAW"}
	if !slices.Equal(dropped, wantDropped) {
		t.Errorf("dropped %q\nwant    %q", dropped, wantDropped)
	}
	if env, _ := (profile.Environment{}).Apply([]string{"PATH=/bin"}); len(env) != 0 {
		t.Errorf("the zero value lets %q in", env)
	}
}

func TestEnvironmentValidate(t *testing.T) {
	t.Parallel()
	for _, e := range []profile.Environment{
		{Pass: []string{"A=B"}}, {Pass: []string{""}}, {Pass: []string{"A*B"}}, {Block: []string{"A\x00"}},
		{Set: map[string]string{"A*": ""}}, {Set: map[string]string{"A": "x\x00"}}, {Set: map[string]string{"": "x"}},
	} {
		if e.Validate() == nil {
			t.Errorf("%+v passes", e)
		}
	}
}
