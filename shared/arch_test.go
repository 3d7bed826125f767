// Package shared_test holds the rules of the house: which package may import what, and what every package must have.
package shared_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/chipschat/chips-aws/"

// A row says which packages of this project a package may import, and which worlds outside it may touch:
//
//	aws      the AWS SDK
//	lambda   aws-lambda-go: the event structs, and in mains the runtime
//	net      net and what is below it
//	os       os and what is below it
//	context  package context
//	clock    a call of time.Now
type row struct {
	imports string
	may     string
}

// table is the direction of the house: mains, adapters, owners of ports, delivery, workspace, protocol. Adapters never import
// adapters. A new package gets a row.
var table = map[string]row{
	// pure
	"shared/protocol":  {"", ""},
	"shared/workspace": {"protocol", ""},
	"shared/delivery":  {"protocol workspace", ""},

	// owners of ports
	"shared/engine":     {"protocol workspace", "context"},
	"shared/auth":       {"protocol workspace engine", "context net"},
	"shared/session":    {"protocol workspace delivery engine", "context"},
	"shared/fanout":     {"protocol workspace delivery engine session", "context"},
	"shared/attachment": {"protocol workspace delivery engine", "context net"},
	"shared/managed":    {"protocol workspace engine deadline", "context"},
	"shared/httpapi":    {"protocol workspace delivery engine auth session attachment managed", "context net"},
	"shared/deadline":   {"protocol workspace engine", "context"},
	"shared/settings":   {"workspace", ""},
	"shared/sweep":      {"engine", "context"},

	// adapters
	"shared/embedded":          {"protocol engine deadline attachment", "context os"},
	"shared/scheduler":         {"deadline", "context aws"},
	"shared/relay":             {"session", "context aws"},
	"shared/s3blob":            {"protocol attachment", "context aws net"},
	"shared/transcribe":        {"protocol attachment", "context aws net"},
	"shared/emf":               {"engine session", "context"},
	"shared/dynamo":            {"protocol engine awscall", "context aws net lambda"},
	"shared/dynamo/dynamotest": {"dynamo apigw", "context aws os"},
	"shared/apigw":             {"protocol workspace engine auth session fanout httpapi deadline awscall", "context net aws lambda"},

	// the suite every adapter of a port runs, and the client of the protocol
	"shared/porttest": {"protocol workspace engine deadline attachment", "context clock"},
	"shared/client":   {"protocol", "context net"},

	// what tests have stand between the AWS adapters and AWS
	"shared/faultproxy": {"", "context net"},

	// what adapters call AWS through; signatures say the time it is
	"shared/awscall": {"", "context aws net clock"},

	// mains, what all functions begin with, and what stands in for AWS on one machine
	"shared/boot":        {"engine settings apigw dynamo emf", "aws lambda os context clock"},
	"localstack/gateway": {"protocol workspace engine auth session fanout httpapi", "context net lambda"},
	"localstack/chips":   {"* localstack/gateway", "aws lambda net os context clock"},
	"localstack/bench":   {"* localstack/gateway", "aws lambda net os context clock"},
	"localstack/cost":    {"*", "aws lambda net os context clock"},
	"localstack/e2e":     {"protocol engine session dynamo apigw client faultproxy", "aws net os context clock"},
	"functions/":         {"*", "aws lambda net os context clock"},

	// a module of its own, with the clients of the peers
	"localstack/bench/peers": {"", "net os context clock"},
}

var banned = []string{"util", "utils", "common", "types", "models", "helpers", "interfaces", "manager"}

// pkg is what the rules look at of one package: its files but the tests.
type pkg struct {
	dir     string
	doc     bool
	imports map[string]string // import path -> one file that has it
	clock   string            // where time.Now is called
	mains   map[string]int    // file with func main -> its lines
	files   int
}

func TestHouse(t *testing.T) {
	pkgs := readPackages(t, "..")
	if len(pkgs) < 3 {
		t.Fatalf("found %d packages: the walk is broken", len(pkgs))
	}
	for _, p := range pkgs {
		r, ok := rowOf(p.dir)
		if !ok {
			t.Errorf("%s: no row in the import table of shared/arch_test.go", p.dir)
			continue
		}
		if slices.Contains(banned, path.Base(p.dir)) {
			t.Errorf("%s: the name says nothing; name the package after what it does", p.dir)
		}
		if !p.doc {
			t.Errorf("%s: no package comment", p.dir)
		}
		for imp, file := range p.imports {
			if why := r.refuses(imp); why != "" {
				t.Errorf("%s imports %q: %s", file, imp, why)
			}
		}
		if p.clock != "" && !r.has("clock") {
			t.Errorf("%s calls time.Now: time comes in as an argument or a clock", p.clock)
		}
		for file, lines := range p.mains {
			if lines > 80 {
				t.Errorf("%s: %d lines; a main is wiring and has 80 at most", file, lines)
			}
		}
		if strings.HasPrefix(p.dir, "functions/") && (p.files != 1 || len(p.mains) != 1) {
			t.Errorf("%s: a function is one main.go and its tests", p.dir)
		}
	}
}

// The rules themselves: a table that allows everything would pass TestHouse.
func TestImportTableRefuses(t *testing.T) {
	for _, c := range []struct{ dir, imp string }{
		{"shared/protocol", "context"},
		{"shared/workspace", "net/http"},
		{"shared/delivery", "os"},
		{"shared/workspace", module + "shared/engine"},
		{"shared/session", "github.com/aws/aws-sdk-go-v2/aws"},
		{"shared/session", "github.com/aws/aws-lambda-go/events"},
		{"shared/apigw", module + "shared/dynamo"},
		{"shared/dynamo", module + "shared/apigw"},
		{"shared/engine", module + "shared/session"},
		{"shared/engine", module + "functions/http"},
	} {
		r, ok := rowOf(c.dir)
		if !ok || r.refuses(c.imp) == "" {
			t.Errorf("%s may import %q", c.dir, c.imp)
		}
	}
	for dir, r := range table {
		if pure := dir == "shared/protocol" || dir == "shared/workspace" || dir == "shared/delivery"; pure && r.may != "" {
			t.Errorf("%s is pure and may touch %q", dir, r.may)
		}
	}
}

func rowOf(dir string) (row, bool) {
	if strings.HasPrefix(dir, "functions/") {
		dir = "functions/"
	}
	r, ok := table[dir]
	return r, ok
}

func (r row) has(word string) bool { return slices.Contains(strings.Fields(r.may), word) }

// refuses says why the import is not allowed, "" when it is.
func (r row) refuses(imp string) string {
	if own, ok := strings.CutPrefix(imp, module); ok {
		allowed := strings.Fields(r.imports)
		short, isShared := strings.CutPrefix(own, "shared/")
		if isShared && (slices.Contains(allowed, short) || slices.Contains(allowed, "*")) || slices.Contains(allowed, own) {
			return ""
		}
		return "against the direction of the house (see the import table)"
	}
	for _, w := range []struct{ word, prefix string }{
		{"aws", "github.com/aws/aws-sdk-go-v2"},
		{"aws", "github.com/aws/smithy-go"},
		{"lambda", "github.com/aws/aws-lambda-go"},
		{"net", "net"},
		{"os", "os"},
		{"context", "context"},
	} {
		if (imp == w.prefix || strings.HasPrefix(imp, w.prefix+"/")) && !r.has(w.word) {
			return "this package may not touch " + w.word
		}
	}
	return ""
}

// readPackages parses every Go file under root. It reads sources in process, so that the test cache sees each file it depends on.
func readPackages(t *testing.T, root string) []*pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(file), root+string(filepath.Separator)))
		p := byDir[dir]
		if p == nil {
			p = &pkg{dir: dir, imports: map[string]string{}, mains: map[string]int{}}
			byDir[dir] = p
		}
		return p.read(file)
	})
	if err != nil {
		t.Fatal(err)
	}
	pkgs := make([]*pkg, 0, len(byDir))
	for _, p := range byDir {
		pkgs = append(pkgs, p)
	}
	slices.SortFunc(pkgs, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return pkgs
}

func (p *pkg) read(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files++
	p.doc = p.doc || f.Doc != nil
	timeName := ""
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		p.imports[imp] = file
		if imp == "time" {
			if timeName = "time"; spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName && n.Sel.Name == "Now" {
				p.clock = fset.Position(n.Pos()).String()
			}
		case *ast.FuncDecl:
			if f.Name.Name == "main" && n.Recv == nil && n.Name.Name == "main" {
				p.mains[file] = bytes.Count(src, []byte("\n"))
			}
		}
		return true
	})
	return nil
}
