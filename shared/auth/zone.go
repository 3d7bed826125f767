package auth

import (
	"regexp"
	"time"
)

// zoneForm is the form of the names in the IANA database. It leaves out what else stands in a system's folder of zones: posix/, right/,
// localtime.
var zoneForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// zone is name if it is exactly a time zone's, else "": an unknown one is none (contract U-146).
func zone(name string) string {
	if name == "Local" || !zoneForm.MatchString(name) {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}
