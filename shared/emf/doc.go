// Package emf counts what goes through the ports of a function and writes it down as CloudWatch's embedded metrics: one JSON line on
// standard output at the end of an invocation in which there was something to count, and none otherwise. CloudWatch makes metrics
// of such lines by itself; no call is made and no library is needed for what is one line of JSON.
//
// Nobody who owns a port knows of it: a Meter wraps the table, the push and the handler where a main puts them together. So the local
// gateway counts nothing.
//
// Metrics are billed one by one, for each hour in which they have a value. So they are few and without dimensions: the namespace has the stack's name
// in it. What was slow is named beside the metrics, as workspace_id, which costs nothing. Metrics of what the alarms take as a rate are
// written as 0 too where they could have been more: their average is then what happens in an invocation that tried.
package emf
