package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"
)

// dryRun prints all that a run would do, and does none of it: neither Docker nor an account is needed. The functions have to be built.
func dryRun(o options, t target, out io.Writer) error {
	template, err := prepare(o, t)
	if err != nil {
		return err
	}
	var doc struct {
		Resources map[string]struct {
			Type string `yaml:"Type"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil {
		return fmt.Errorf("the changed template: %w", err)
	}
	programs, err := packages(o.functions)
	if err != nil {
		return err
	}
	nested, err := filepath.Glob(filepath.Join(filepath.Dir(o.template), nestedTemplates))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s at %s\n", t.name, t.url)
	fmt.Fprintf(out, "     started by: %s\n", t.starts)
	t.differs(out)
	for _, file := range programs {
		fmt.Fprintf(out, "     upload: %s as s3://%s/%s.zip\n", file, bucket, filepath.Base(filepath.Dir(file)))
	}
	for _, file := range nested {
		fmt.Fprintf(out, "     upload: %s as s3://%s/%s\n", file, bucket, filepath.Base(file))
	}
	fmt.Fprintf(out, "     make: the parameters /chips/admin-token and /chips/edge-secret, with new secrets\n")
	for _, id := range slices.Sorted(maps.Keys(doc.Resources)) {
		fmt.Fprintf(out, "     deploy: %s, a %s\n", id, doc.Resources[id].Type)
	}
	for _, step := range (&town{}).steps() {
		how := "step"
		if step.faults && !t.faulty {
			how = "left out, for want of faults in front of " + t.name
		}
		fmt.Fprintf(out, "     %s: %s\n", how, step.what)
	}
	for _, what := range t.untried {
		fmt.Fprintf(out, "     not tried: %s\n", what)
	}
	fmt.Fprintf(out, "     stopped by: %s\n", t.stops)
	return nil
}
