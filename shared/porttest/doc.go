// Package porttest holds, for each port, the one contract suite that every adapter of it runs, and doubles for those who use the port.
//
// A suite takes a function that opens a fresh, empty adapter and closes it with the test. It asserts what the port's doc
// comment says and nothing else. Faulty makes a sound adapter fail in all the ways that a table over a network does.
package porttest
