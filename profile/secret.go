package profile

import "strings"

// secretWords are parts of names that hold credentials.
var secretWords = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "PRIVATEKEY", "API_KEY", "APIKEY",
	"ACCESS_KEY", "ACCESSKEY", "AUTH", "BEARER", "COOKIE", "SESSION_KEY", "ENCRYPTION_KEY", "SIGNING_KEY", "WEBHOOK",
	"CONNECTION_STRING", "DSN", "KUBECONFIG", "NETRC", "PGPASS", "KEYRING", "VAULT", "JWT", "CERTIFICATE_KEY", "SSHPASS",
}

// secretNames hold credentials, or lead to an agent that does.
var secretNames = map[string]bool{
	"SSH_AUTH_SOCK": true, "SSH_AGENT_PID": true, "GPG_AGENT_INFO": true, "DBUS_SESSION_BUS_ADDRESS": true,
	"DATABASE_URL": true, "REDIS_URL": true, "MONGODB_URI": true, "AMQP_URL": true, "DOCKER_HOST": true, "KRB5CCNAME": true,
	"XAUTHORITY": true, "ICEAUTHORITY": true, "PASS": true, "PWD_HASH": true, "NOTIFY_SOCKET": true, "LISTEN_FDS": true,
}

// LooksSecret reports whether a variable of this name is likely to hold a
// credential. It errs on the side of yes.
func LooksSecret(name string) bool {
	upper := strings.ReplaceAll(strings.ToUpper(name), "AUTHOR_", "") // GIT_AUTHOR_NAME
	if secretNames[upper] {
		return true
	}
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return true
		}
	}
	for _, suffix := range []string{"_KEY", "_PASS", "_PWD", "_PAT", "_CREDS", "_CERT"} {
		if strings.HasSuffix(upper, suffix) {
			return true
		}
	}
	return false
}

// secretPrefixes begin tokens of well-known issuers.
var secretPrefixes = []string{
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-", "sk-", "sk_live_", "rk_live_",
	"AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "dop_v1_", "hf_", "SG.", "eyJhbGciOi", "-----BEGIN",
}

// valueLooksSecret reports whether a value is likely to be a credential: a
// token of a known form, or a URL with a password in it.
func valueLooksSecret(value string) bool {
	for _, prefix := range secretPrefixes {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	if _, rest, ok := strings.Cut(value, "://"); ok {
		authority, _, _ := strings.Cut(rest, "/")
		user, _, ok := cutLast(authority, "@")
		return ok && strings.Contains(user, ":")
	}
	return strings.Contains(value, "PRIVATE KEY-----")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
