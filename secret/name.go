package secret

import "strings"

// words are parts of names that hold credentials.
var words = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "PRIVATEKEY", "API_KEY", "APIKEY",
	"ACCESS_KEY", "ACCESSKEY", "AUTH", "BEARER", "COOKIE", "SESSION_KEY", "ENCRYPTION_KEY", "SIGNING_KEY", "WEBHOOK",
	"CONNECTION_STRING", "DSN", "KUBECONFIG", "NETRC", "PGPASS", "KEYRING", "VAULT", "JWT", "CERTIFICATE_KEY", "SSHPASS",
}

// names hold credentials, or lead to an agent that does.
var names = map[string]bool{
	"SSH_AUTH_SOCK": true, "SSH_AGENT_PID": true, "GPG_AGENT_INFO": true, "DBUS_SESSION_BUS_ADDRESS": true,
	"DATABASE_URL": true, "REDIS_URL": true, "MONGODB_URI": true, "AMQP_URL": true, "DOCKER_HOST": true,
	"KRB5CCNAME": true,
	"XAUTHORITY": true, "ICEAUTHORITY": true, "PASS": true, "PWD_HASH": true, "NOTIFY_SOCKET": true, "LISTEN_FDS": true,
}

// Name reports whether an environment variable of this name is likely to hold
// a credential. It errs on the side of yes.
func Name(name string) bool {
	upper := strings.ReplaceAll(strings.ToUpper(name), "AUTHOR", "") // GIT_AUTHOR_NAME, --author
	if names[strings.ToUpper(name)] {
		return true
	}
	for _, word := range words {
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

// about are last parts of an option's name that make its value no secret:
// --password-file names a file.
var about = map[string]bool{
	"stdin": true, "file": true, "path": true, "name": true, "id": true, "type": true, "ttl": true, "env": true,
	"command": true,
	"helper":  true, "length": true, "url": true, "host": true, "dir": true, "store": true, "method": true,
	"format": true, "prompt": true,
}

// optionNames reports whether an option's value is likely to be a credential.
func optionNames(name string) bool {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	if len(parts) == 0 || about[parts[len(parts)-1]] {
		return false
	}
	for i, p := range parts {
		switch p {
		case "token", "password", "passwd", "passphrase", "secret", "apikey", "pat", "pass", "pwd", "bearer", "jwt",
			"credential", "credentials", "passcode":
			return true
		case "key":
			if i > 0 && (parts[i-1] == "api" || parts[i-1] == "access" || parts[i-1] == "secret" || parts[i-1] == "private" ||
				parts[i-1] == "auth") {
				return true
			}
		}
		for _, end := range []string{"token", "password", "passwd", "secret", "apikey"} {
			if strings.HasSuffix(p, end) {
				return true
			}
		}
	}
	return false
}

// Value reports whether a value by itself is likely to be a credential: a token
// of a known form, a private key, or a URL with a password in it.
func Value(value string) bool {
	for _, prefix := range []string{
		"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-", "sk-",
		"sk_live_",
		"rk_live_", "rk_test_", "xoxc-", "dckr_pat_", "hvs.", "gsk_", "whsec_", "tskey-", "lin_api_", "dp.pt.",
		"AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "dop_v1_", "hf_", "SG.", "eyJhbGciOi", "-----BEGIN",
	} {
		if strings.HasPrefix(value, prefix) {
			return true
		}
	}
	if _, rest, ok := strings.Cut(value, "://"); ok {
		authority, _, _ := strings.Cut(rest, "/")
		i := strings.LastIndex(authority, "@")
		return i >= 0 && strings.Contains(authority[:i], ":")
	}
	return strings.Contains(value, "PRIVATE KEY-----")
}
