package shell

import (
	"slices"
	"strings"

	"sandboxd/shell/analysis"
)

// services lists the clients of databases, queues and stores: what they change is not in the project.
var services = strings.Fields(`psql pgcli pg_restore createdb dropdb createuser dropuser vacuumdb reindexdb pgbench
	mysql mysqladmin mysqlimport mysqlsh mariadb mariadb-admin mycli mongosh mongo mongoimport mongorestore redis-cli
	valkey-cli keydb-cli sqlcmd bcp osql clickhouse clickhouse-client cqlsh influx influxd etcdctl zkcli cockroach
	ysql ycqlsh
	cypher-shell neo4j-admin surreal usql rabbitmqctl rabbitmqadmin mosquitto_pub kafka-topics kafka-topics.sh
	kafka-console-producer kafka-console-producer.sh kcat nats ldapadd ldapmodify ldapdelete mc minio-client flyway
	liquibase dbmate goose sqitch nc ncat netcat socat telnet websocat wscat grpcurl ghz`)

// webClients lists the commands that fetch and send.
var webClients = strings.Fields("curl curlie wget wget2 http https xh xhs aria2c gist openssl")

// serviceWords lists the sub-commands by which programs change a database that the project configures: the first words
// of each, by program.
var serviceWords = map[string]string{
	"manage.py": "flush migrate sqlflush reset_db loaddata dbshell shell shell_plus sync_db createsuperuser",
	"rails rake": "db:create db:drop db:migrate db:reset db:rollback db:schema:load db:seed db:setup db:truncate_all " +
		"dbconsole",
	"prisma": "migrate db", "alembic": "upgrade downgrade stamp", "flask": "db", "sequelize sequelize-cli": "db:",
	"knex": "migrate: seed:", "typeorm": "migration: schema:", "drizzle-kit": "push migrate drop",
	"mikro-orm": "migration: schema: database:", "mix": "ecto.", "artisan": "migrate migrate: db:", "console": "doctrine:",
	"sqlx": "database migrate db", "diesel": "database migration setup", "atlas": "schema migrate",
	"hasura":  "migrate metadata",
	"migrate": "-database --database -source -path", "sea-orm-cli": "migrate", "dotnet-ef": "database", "dotnet": "ef",
}

// migrations finds the sub-commands of serviceWords by their program.
var migrations = byProgram(serviceWords)

// actsOnServices reports whether a command changes what a service of this machine or of the network holds, as far as
// its words show: a client of databases, a migration, a request with a body or a method that writes.
func actsOnServices(name string, words []analysis.Word) bool {
	if slices.Contains(services, name) {
		return true
	}
	switch name {
	case "curl", "curlie":
		return sendsRequest(words)
	case "wget", "wget2":
		return anyWord(words, "--post-", "--body-", "--method", "-e", "--execute", "-i", "--input-file", "--config")
	case "http", "https", "xh", "xhs":
		return slices.ContainsFunc(words[1:], func(w analysis.Word) bool {
			_, value, item := strings.Cut(w.Text, "=")
			return !w.Known() || item && !strings.HasPrefix(value, "=") && !strings.HasPrefix(w.Text, "-") ||
				slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, strings.ToUpper(w.Text)) || w.Text == "--raw"
		})
	}
	for i, w := range words {
		program := base(w.Text) // python manage.py flush, npx prisma@5 migrate
		if i == 0 {
			program = name
		}
		subs := migrations[unversioned(program)]
		if slices.ContainsFunc(words[i+1:], func(w analysis.Word) bool { return begins(w.Text, subs) }) {
			return true
		}
	}
	return false
}

// changesServices is actsOnServices for all forms of a call.
func changesServices(c *analysis.Call) bool {
	return slices.ContainsFunc(spelled(c), func(words []analysis.Word) bool {
		return actsOnServices(unversioned(base(words[0].Text)), words)
	})
}

// namesURL reports whether a command is a client of the web, or a word of it is, or has, a URL.
func namesURL(c *analysis.Call) bool {
	return slices.Contains(webClients, unversioned(base(c.Name()))) ||
		slices.ContainsFunc(c.Args, func(w analysis.Word) bool { return strings.Contains(w.Source, "://") })
}

// begins reports whether a word is one of the list, or begins with one that ends in a colon or a dot.
func begins(word string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		return word == s || strings.HasSuffix(s, ":") && strings.HasPrefix(word, s) ||
			strings.HasSuffix(s, ".") && strings.HasPrefix(word, s)
	})
}

// anyWord reports whether a word begins with one of the texts, or is not known.
func anyWord(words []analysis.Word, texts ...string) bool {
	return slices.ContainsFunc(words[1:], func(w analysis.Word) bool {
		return !w.Known() || slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(w.Text, t) })
	})
}

// sendsRequest reports whether curl's words give a request a body, or another method than GET or HEAD.
func sendsRequest(words []analysis.Word) bool {
	if anyWord(words, "--data", "--json", "--form", "--upload-file", "--quote", "--config", "--url-query", "--mail-") {
		return true
	}
	for i, w := range words[1:] {
		method, joined := strings.CutPrefix(w.Text, "--request=")
		letters := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
		at := strings.IndexAny(w.Text, "dFTXQK")
		switch {
		case w.Text == "--request" && i+2 < len(words):
			method = words[i+2].Text
		case letters && at > 0 && w.Text[at] != 'X' && !strings.ContainsAny(w.Text[1:at], "oHAeubcxwmC"):
			return true
		case letters && at > 0 && w.Text[at] == 'X' && !strings.ContainsAny(w.Text[1:at], "oHAeubcxwmC"):
			if method = w.Text[at+1:]; method == "" && i+2 < len(words) {
				method = words[i+2].Text
			}
		case !joined:
			continue
		}
		if !slices.Contains([]string{"GET", "HEAD"}, strings.ToUpper(method)) {
			return true
		}
	}
	return false
}
