package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Files of the data folder beside the table. They hold secrets, so they are their owner's alone.
const (
	adminTokenFile = "admin-token"
	demoFile       = "demo.json"
)

// folder is the data folder.
type folder string

func openFolder(path string) (folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	return folder(path), nil
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// adminToken is the token that was given, or else the one that is kept; made says that it was made just now.
func (f folder) adminToken(given string) (token string, made bool, err error) {
	if given != "" {
		return given, false, nil
	}
	kept, err := os.ReadFile(f.path(adminTokenFile))
	switch {
	case err == nil && strings.TrimSpace(string(kept)) != "":
		return strings.TrimSpace(string(kept)), false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	token = "adm_" + rand.Text()
	return token, true, f.write(adminTokenFile, []byte(token+"\n"))
}

// write puts a file down whole or not at all.
func (f folder) write(name string, content []byte) error {
	part := f.path(name + ".part")
	if err := os.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	return os.Rename(part, f.path(name))
}

// demo is what --demo made: what send and listen use without being told.
type demo struct {
	URL         string `json:"url"`
	WorkspaceID string `json:"workspace_id"`
	PersonID    string `json:"person_id"`
	Key         string `json:"key"`
	HarnessID   string `json:"harness_id"`
	Token       string `json:"token"`
	SpaceID     string `json:"space_id"`
}

// readDemo reads the demo; an error that is fs.ErrNotExist when there is none.
func (f folder) readDemo() (demo, error) {
	var d demo
	b, err := os.ReadFile(f.path(demoFile))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return d, fmt.Errorf("read %s: %w", f.path(demoFile), err)
	}
	return d, nil
}

func (f folder) writeDemo(d demo) error {
	b, err := json.Marshal(d, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return f.write(demoFile, append(b, '\n'))
}
