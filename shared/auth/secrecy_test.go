package auth

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every flow, well and badly: no log line and no error holds a secret or the part of one that matters.
func TestNoSecretInLogsOrErrors(t *testing.T) {
	w := newWorld(t)
	var said strings.Builder
	secrets := map[string]string{"the admin token": adminTk}
	note := func(err error) {
		if err != nil {
			said.WriteString(err.Error() + "\n")
		}
	}
	each := func(secret string) {
		_, err := w.bearer(secret)
		note(err)
		for _, args := range [][3]string{{"Bearer " + secret, "", ""}, {"Basic " + secret, "", ""}, {"", secret, ""}, {"", "", secret}} {
			_, err := w.Upgrade(w.ctx, args[0], args[1], args[2])
			note(err)
		}
		_, err = w.PairDevice(w.ctx, Pairing{Code: secret, PublicKey: publicKey(t), Kind: Phone})
		note(err)
		_, err = w.Device(w.ctx, ws, secret)
		note(err)
		note(w.RevokeToken(w.ctx, ws, scout, secret))
	}
	round := func() {
		tk, id := w.token(scout)
		key, keyID := w.key(arjun)
		ticket, _, err := w.IssueTicket(w.ctx, asPerson(arjun, keyID))
		w.must(err)
		code := w.code(arjun)
		d, private := w.device(arjun, Phone, "")
		r, body := w.signed(d, private, bend{body: "x"})
		sig := r.Header.Get("Signature")
		for range 2 {
			_, err = w.Authenticate(w.ctx, r, body)
			note(err)
		}
		for what, s := range map[string]string{
			"a token": tk, "a key": key, "a ticket": ticket, "a code": code, "a signature": strings.Trim(strings.TrimPrefix(sig, "sig1="), ":"),
		} {
			secrets[what+" "+id] = s
			each(s)
			each(s[:len(s)-1] + "A")
		}
		note(w.RevokeToken(w.ctx, ws, scout, id))
		each(tk)
		_, err = w.SpendTicket(w.ctx, ticket)
		note(err)
	}
	round()
	if !strings.Contains(w.log.String(), "WARN") || said.Len() == 0 {
		t.Fatal("the flows said nothing")
	}
	for at := range 40 { // and with the table failing at each step
		n := 0
		w.table.after = func(string) error {
			if n++; n%41 == at {
				return os.ErrDeadlineExceeded
			}
			return nil
		}
		tk, _, err := w.IssueToken(w.ctx, ws, scout)
		note(err)
		if tk != "" {
			secrets["a token of a failing table"] = tk
			each(tk)
		}
		w.table.after = nil
	}
	all := w.log.String() + said.String()
	for what, s := range secrets {
		if len(s) == secretLen {
			s = s[idLen+1:]
		}
		if strings.Contains(all, s) || strings.Contains(all, s[:len(s)-1]) {
			t.Errorf("%s was said", what)
		}
	}
}

// Secrets and hashes are compared by crypto/subtle alone: no == and no bytes.Equal on a name that speaks of one.
func TestConstantTime(t *testing.T) {
	secret := regexp.MustCompile(`(?i)secret|hash|token|ticket|digest|sum$|admin|^code$|bytes$|key$`)
	size := regexp.MustCompile(`TTL$|Len$|^prefix`)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	compares := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					return true
				}
				empty := false
				names := ""
				for _, side := range []ast.Expr{n.X, n.Y} {
					switch side := side.(type) {
					case *ast.Ident:
						empty = empty || side.Name == "nil"
						names += side.Name + " "
					case *ast.SelectorExpr:
						names += side.Sel.Name + " "
					case *ast.BasicLit:
						empty = empty || side.Value == `""`
					}
				}
				for name := range strings.FieldsSeq(names) {
					if secret.MatchString(name) && !empty && !size.MatchString(name) {
						t.Errorf("%s: compares %s in a time that tells", fset.Position(n.Pos()), name)
					}
				}
			case *ast.SelectorExpr:
				x, _ := n.X.(*ast.Ident)
				if x == nil {
					return true
				}
				switch x.Name + "." + n.Sel.Name {
				case "bytes.Equal", "bytes.Compare", "strings.Compare", "reflect.DeepEqual":
					t.Errorf("%s: %s.%s", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				case "subtle.ConstantTimeCompare":
					compares++
				}
			}
			return true
		})
	}
	if compares < 3 { // admin token, bearer, digest
		t.Errorf("%d comparisons in constant time", compares)
	}
}
