// Statements that only one engine needs.

// name: running_queries
// The embedded engine ignores time limits: a watchdog looks for the query that carries its mark.
SHOW TRANSACTIONS YIELD transactionId, currentQuery

// name: terminate_query!
// Ends one of them. TRANSACTION_ID is put in as text, after it was checked: the engine takes no parameter here.
TERMINATE TRANSACTION 'TRANSACTION_ID'
