package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

var (
	sqlComment = lazyregexp.New(`(?s)/\*.*?\*/|--[^\n]*(\n|$)`)
	sqlHash    = lazyregexp.New(`(?m)(^|\s)#[^\n]*(\n|$)`)
	sqlJoin    = lazyregexp.New(`'\s*(\|\||\+)\s*'`)
	dropBase   = lazyregexp.New(`(?i)(?:\b|-[ecqc])drop[\s_]*(database|schema|tablespace|owned\s+by|keyspace|user\s+.*\bcascade)\b|drop["'\s+]*database["'\s\]]*\(|\bdropdatabase\b|\bdb:drop\b|\bdrop_database\b|dropalldatabases|\bdeletedatabase\b`)
	dropTest   = lazyregexp.New(`(?i)drop[\s_]*(?:database|schema|keyspace)\s+(?:if\s+exists\s+)?["'\x60\[]?[\w.-]*(?:test|tmp|temp|scratch|_ci\b|sandbox)[\w.-]*`)
	truncates  = lazyregexp.New(`(?i)\btruncate\s+(table\s+)?[\w."\x60]+|\bdrop\s+(view|index|sequence|type|role|user|function|column|collection)\b`)
	mongoDrop  = lazyregexp.New(`(?i)drop["'\s+]*database|\.drop\(\)|deletemany\(\s*\{\s*\}\s*\)|\.remove\(\s*\{\s*\}\s*\)`)
)

// plainSQL is SQL without comments, in one line; comments may be in comments.
func plainSQL(text string) string {
	if strings.Contains(text, "/*") {
		var b strings.Builder
		depth := 0
		for i := 0; i < len(text); i++ {
			switch {
			case strings.HasPrefix(text[i:], "/*!"):
				i += 2
				for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
					i++
				}
				b.WriteByte(' ')
			case strings.HasPrefix(text[i:], "/*"):
				depth++
				i++
				b.WriteByte(' ')
			case strings.HasPrefix(text[i:], "*/"):
				depth = max(0, depth-1)
				i++
				b.WriteByte(' ')
			case depth == 0:
				b.WriteByte(text[i])
			}
		}
		text = b.String()
	}
	text = sqlJoin.ReplaceAllString(sqlComment.ReplaceAllString(text, " "), "")
	return strings.Join(strings.Fields(text), " ")
}

// dropSQL reports whether a text takes a database away, but for one of tests.
func dropSQL(text string) bool {
	// Most texts have neither the word nor a quote that it may be put together with; the
	// expressions cost a hundred times more.
	if !strings.Contains(text, "'") && !strings.Contains(strings.ToLower(text), "drop") && !strings.Contains(strings.ToLower(text), "deletedatabase") {
		return false
	}
	for _, t := range []string{text, plainSQL(text), plainSQL(sqlHash.ReplaceAllString(text, " "))} {
		if dropBase.MatchString(dropTest.ReplaceAllString(t, " ")) {
			return true
		}
	}
	return false
}

// client judges programs that talk to a database, or look after it.
func (k *analysis) client(name string, ws []word, in *source) bool {
	if k.databaseAdmin(name, ws) {
		return true
	}
	if !slices.Contains([]string{
		"psql", "mysql", "mariadb", "sqlite3", "sqlite", "sqlcmd", "mongosh", "mongo", "clickhouse-client", "clickhouse", "cockroach", "duckdb", "bq", "sqlplus", "tsql", "isql",
		"pgcli", "mycli", "litecli", "usql", "snowsql", "impala-shell", "beeline", "hive", "cqlsh", "influx", "spanner-cli", "mssql-cli", "redis-cli", "valkey-cli", "trino", "presto", "neo4j", "cypher-shell", "surreal", "turso", "libsql", "osqueryi", "etcdctl", "mysqlsh", "rqlite", "tidb", "psql-wrapper", "invoke-sqlcmd", "keydb-cli", "edgedb", "vsql", "db2", "crate", "dolt", "snow",
	}, name) {
		return false
	}
	text := joined(ws)
	for i, w := range ws[1:] {
		lower := w.lower()
		command := i >= 0 && slices.Contains([]string{"-c", "-e", "--command", "--execute", "-q", "-Q", "-cmd", "--query", "--eval"}, ws[i].text)
		if w.text == hole && command || w.many && command || w.many && len(ws) == 2 ||
			w.holes() && strings.HasSuffix(lower, "=$?") && (strings.HasPrefix(lower, "--command") || strings.HasPrefix(lower, "--exec") || strings.HasPrefix(lower, "--query") || strings.HasPrefix(lower, "--eval")) {
			k.unknown("what the database is told is hidden in a variable or a substitution", ws)
			return true
		}
		if w.holes() && command && strings.Contains(strings.ToLower(plainSQL(w.String())), "drop ") {
			k.unknown("what the database drops is hidden in a variable or a substitution", ws)
			return true
		}
		for _, o := range []string{"-f", "--file", "-i", "<", "--init-command", "-init"} {
			if ws[i].text == o {
				if src, ok := k.written(w); ok && !src.file {
					k.told(src, ws)
				} else if dropNamed(w) {
					k.never(dropDatabase, ws)
				}
			}
			if v, ok := strings.CutPrefix(w.text, o+"="); ok {
				if src, written := k.written(plain(v)); written && !src.file {
					k.told(src, ws)
				} else if dropNamed(plain(v)) {
					k.never(dropDatabase, ws)
				}
			}
		}
		if strings.HasPrefix(lower, `\!`) || command && strings.HasPrefix(lower, `\!`) {
			k.certain(plain(strings.TrimPrefix(w.text, `\!`) + " "))
		}
	}
	switch name {
	case "redis-cli", "valkey-cli", "keydb-cli":
		if said := strings.ToLower(joined(ws)); strings.Contains(said, "shutdown") || strings.Contains(said, "config set dir") || strings.Contains(said, "debug segfault") || strings.Contains(said, "debug reload") {
			k.unknown("it ends what others need", ws)
		}
		if slices.ContainsFunc(ws[1:], func(w word) bool { return slices.Contains([]string{"flushall", "flushdb"}, w.lower()) }) {
			k.never(dropDatabase, ws)
		} else if slices.ContainsFunc(ws, func(w word) bool { return w.lower() == "del" }) && slices.ContainsFunc(ws, word.holes) {
			k.unknown("what it takes away may not come back", ws)
		}
	case "mongosh", "mongo":
		if mongoDrop.MatchString(text) || in != nil && mongoDrop.MatchString(in.text) {
			k.never(dropDatabase, ws)
		}
	case "etcdctl":
		if slices.ContainsFunc(ws, func(w word) bool { return w.text == "del" }) && given(ws, "--prefix --from-key") {
			k.never(dropDatabase, ws)
		}
	case "bq":
		if slices.ContainsFunc(ws, func(w word) bool { return w.text == "rm" }) && given(ws, "-r -d --dataset --recursive") {
			k.never(dropDatabase, ws)
		}
	case "influx", "turso", "surreal", "dolt", "edgedb":
		if sqlRe0.MatchString(text) {
			k.never(dropDatabase, ws)
		} else {
			k.verb(name, ws)
		}
	case "cypher-shell":
		if sqlRe1.MatchString(text) {
			k.never(dropDatabase, ws)
		}
	}
	if dropSQL(text) {
		k.never(dropDatabase, ws)
	}
	if in == nil {
		in = k.s.in
	}
	if all := plainSQL(valuesOf(ws) + stdin(in)); !testNamed(ws[1:]) && !local(ws) && (wholeSQL.MatchString(all) || updates.MatchString(all) && !strings.Contains(strings.ToLower(all), "where")) {
		k.unknown("what it changes in the database does not come back", ws)
	}
	k.changesProduction(name, text, ws, in)
	if in == nil {
		in = k.s.in
	}
	if in != nil {
		k.told(in, ws)
	}
	return true
}

// changesProduction judges what a database that has production in its name is told.
func (k *analysis) changesProduction(name, text string, ws []word, in *source) {
	prod := slices.ContainsFunc(ws[1:], func(w word) bool { return !strings.Contains(w.text, " ") && deploysTo(w) })
	for _, n := range []string{"PGHOST", "PGDATABASE", "PGSERVICE", "MYSQL_HOST", "DATABASE_URL", "REDIS_URL", "MONGO_URL"} {
		prod = prod || k.prodNamed(n)
	}
	if !prod {
		return
	}
	if sqlWrites.MatchString(text+stdin(in)) || in != nil && in.file || given(ws[1:], "-f --file") && strings.HasSuffix(name, "sql") || redisWrites.MatchString(text) && strings.HasSuffix(name, "-cli") || mongoWrites.MatchString(text) && strings.HasPrefix(name, "mongo") {
		k.never(productionDeploy, ws)
	}
}

// valuesOf are the words of a command without the names of options, which begin as comments of
// SQL do.
func valuesOf(ws []word) string {
	var out []string
	for _, w := range ws[1:] {
		text := w.String()
		if strings.HasPrefix(text, "--") {
			_, text, _ = strings.Cut(text, "=")
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

var (
	wholeSQL    = lazyregexp.New(`(?i)\btruncate\s+(table\s+)?[\w."]+|\bdrop\s+(user|role|view|materialized\s+view|sequence|type|extension|function|trigger|column|partition|stream|measurement|series|policy|server|login)\b|\bpg_terminate_backend|\breset\s+master\b|\bshutdown\b|adminCommand\(\s*\{\s*shutdown`)
	updates     = lazyregexp.New(`(?i)\bupdate\s+[\w."]+\s+set\b|updateMany\(\s*\{\s*\}`)
	redisWrites = lazyregexp.New(`(?i)\s(del|unlink|set|hset|expire|rename|restore|shutdown|flush\w*)(\s|$)`)
	mongoWrites = lazyregexp.New(`(?i)\.(delete|update|insert|replace|drop|remove|rename)\w*\(`)
)

// dropNamed reports whether a file says by its name what it does.
func dropNamed(w word) bool {
	name := strings.ToLower(w.text[strings.LastIndexByte(w.text, '/')+1:])
	return strings.HasPrefix(name, "drop") && !strings.Contains(name, "test") && !strings.Contains(name, "table") && !strings.Contains(name, "index") && !strings.Contains(name, "column")
}

// told judges what a database reads.
func (k *analysis) told(in *source, ws []word) {
	if in.file && in.text == "" {
		if in.path != "" && dropNamed(plain(in.path)) {
			k.never(dropDatabase, ws)
		}
		return
	}
	if dropSQL(in.text) || mongoDrop.MatchString(in.text) && strings.HasPrefix(base(ws[0]), "mongo") || sqlRe2.MatchString(in.text) && strings.Contains(base(ws[0]), "-cli") {
		k.never(dropDatabase, append(slices.Clone(ws), plain(plainSQL(in.text))))
	}
	if !in.known && !in.file && (strings.TrimSpace(in.text) == "" || strings.Contains(strings.ToLower(in.text), "drop")) {
		k.unknown("nobody knows what the database is told", ws)
	}
	for line := range strings.Lines(in.text) { // a way out to the shell
		if cmd, ok := strings.CutPrefix(strings.TrimSpace(line), `\!`); ok {
			k.certain(plain(cmd + " "))
		}
	}
	for _, p := range k.patterns {
		if p.text != "rm -rf" && !loosePattern(p.text) && (p.re.MatchString(plainSQL(in.text)) || p.text == "drop table" && truncates.MatchString(in.text)) {
			k.add(Found{Rule: p.text, Text: cut(joined(ws) + " " + plainSQL(in.text)), Words: texts(ws)})
		}
	}
}

// databaseAdmin judges the programs that make and drop databases.
func (k *analysis) databaseAdmin(name string, ws []word) bool {
	_, operands := arguments0(ws, " -h --host -p --port -U --username -u --user -P --password -d -S --socket ")
	has := func(list ...string) bool {
		return slices.ContainsFunc(operands, func(w word) bool { return slices.Contains(list, w.lower()) })
	}
	drops := false
	switch name {
	case "dropdb", "dropuser":
		drops = !given(ws, "--help --version")
	case "mysqladmin", "mariadb-admin":
		if drops = has("drop"); has("shutdown", "flush-privileges-x") {
			k.unknown("it ends what others need", ws)
		}
	case "pg_dropcluster", "pg_resetwal", "sqldropdb", "influxd-drop":
		drops = true
	case "pg_restore":
		if given(ws, "--clean -c") && slices.ContainsFunc(ws[1:], deploysTo) {
			k.never(productionDeploy, ws)
			return true
		}
		drops = given(ws, "--clean -c") && given(ws, "--create -C") && !local(ws)
		if !drops && given(ws, "--clean -c") && !local(ws) && !testNamed(operands) {
			k.unknown("it empties the database before it fills it", ws)
		}
		if !drops {
			return true
		}
	case "nodetool":
		drops = has("decommission", "removenode", "drain", "clearsnapshot")
	case "mongorestore":
		drops = given(ws, "--drop")
		if !drops {
			return true
		}
	case "rabbitmqctl":
		drops = has("reset", "force_reset", "delete_vhost", "delete_queue", "purge_queue", "stop_app", "delete_user")
	case "rethinkdb", "couchbase-cli":
		drops = has("bucket-delete", "bucket-flush")
	default:
		return false
	}
	if drops && !testNamed(operands) {
		k.never(dropDatabase, ws)
	}
	return true
}

// testNamed reports whether what is dropped is for tests.
func testNamed(ws []word) bool {
	if len(ws) == 0 {
		return false
	}
	return slices.ContainsFunc(ws, func(w word) bool {
		return !w.many && slices.ContainsFunc(tokens(plain(strings.ReplaceAll(w.text, "_", " "))), func(t string) bool {
			return slices.Contains([]string{"test", "tests", "testing", "tmp", "temp", "ci", "scratch", "testdb"}, t)
		})
	})
}

// Parts of what is looked for above.
var (
	sqlRe0 = lazyregexp.New(`\b(db|database|bucket|instance|branch)\s+(destroy|delete|drop|wipe)\b`)
	sqlRe1 = lazyregexp.New(`(?i)match\s*\(\w+\)\s*detach\s+delete`)
	sqlRe2 = lazyregexp.New(`(?i)\bflush(all|db)\b`)
)
