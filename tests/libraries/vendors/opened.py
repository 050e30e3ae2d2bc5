"""The open part: looked at while the families were written."""

from __future__ import annotations

import imaplib
import poplib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tests.libraries.cases import caught, caused
from tests.libraries.vendors import Labelled, Vendor, vendor
from tests.support.lookalikes import fake_class

OPENED: list[Vendor] = []

NET = "network transient resource"
AGAIN = "transient network resource"
FULL = "resource transient"
DENIED = "permission permanent"
INVALID = "validation permanent"
NEVER = "permanent validation permission"
FINAL = "permanent permission validation"

ORACLE = """
ORA-00001: unique constraint (SHOP.ORDERS_PK) violated               |IntegrityError  |validation permanent
ORA-01400: cannot insert NULL into ("SHOP"."ORDERS"."ID")            |IntegrityError  |validation permanent
ORA-02291: integrity constraint (SHOP.FK) violated - parent key not found|IntegrityError|validation permanent
ORA-01438: value larger than specified precision allowed             |DatabaseError   |validation permanent
ORA-12899: value too large for column "SHOP"."T"."A" (actual: 12)    |DatabaseError   |validation permanent
ORA-00942: table or view does not exist                              |DatabaseError   |permanent validation permission
ORA-00904: "FOO": invalid identifier                                 |DatabaseError   |permanent validation
ORA-00933: SQL command not properly ended                            |DatabaseError   |permanent validation
ORA-01017: invalid username/password; logon denied                   |DatabaseError   |permission
ORA-28000: The account is locked.                                    |DatabaseError   |permission
ORA-28001: the password has expired                                  |DatabaseError   |permission
ORA-01031: insufficient privileges                                   |DatabaseError   |permission
ORA-01045: user A lacks CREATE SESSION privilege; logon denied       |DatabaseError   |permission
ORA-00060: deadlock detected while waiting for resource              |OperationalError|transient resource
ORA-00054: resource busy and acquire with NOWAIT specified           |DatabaseError   |transient resource
ORA-08177: can't serialize access for this transaction               |DatabaseError   |transient
ORA-01555: snapshot too old: rollback segment number 9               |DatabaseError   |transient resource
ORA-03113: end-of-file on communication channel                      |OperationalError|network transient
ORA-03135: connection lost contact                                   |OperationalError|network transient
ORA-12541: TNS:no listener                                           |OperationalError|network transient
ORA-12170: TNS:Connect timeout occurred                              |OperationalError|network transient
ORA-12514: TNS:listener does not currently know of service requested |OperationalError|permanent network transient
ORA-12154: TNS:could not resolve the connect identifier specified    |DatabaseError   |permanent validation
ORA-12520: TNS:listener could not find available handler             |OperationalError|resource transient network
ORA-00018: maximum number of sessions exceeded                       |DatabaseError   |resource transient
ORA-00020: maximum number of processes (300) exceeded                |DatabaseError   |resource transient
ORA-02391: exceeded simultaneous SESSIONS_PER_USER limit             |DatabaseError   |resource transient
ORA-01653: unable to extend table SHOP.T by 128 in tablespace USERS  |DatabaseError   |resource
ORA-04031: unable to allocate 4160 bytes of shared memory            |DatabaseError   |resource transient
ORA-01033: ORACLE initialization or shutdown in progress             |OperationalError|transient network
ORA-01034: ORACLE not available                                      |OperationalError|transient network
ORA-01089: immediate shutdown or close in progress                   |OperationalError|transient network
ORA-16456: switchover to standby in progress or completed            |DatabaseError   |transient network
ORA-25408: can not safely replay call                                |OperationalError|transient network
ORA-04068: existing state of packages has been discarded             |DatabaseError   |transient
ORA-01722: invalid number                                            |DatabaseError   |validation permanent
ORA-01013: user requested cancel of current operation                |DatabaseError   |transient permanent
DPY-4011: the database or network closed the connection              |OperationalError|network transient
DPY-4024: call timeout of 1000 ms exceeded                           |OperationalError|network transient
DPY-6000: cannot connect to database. Listener refused connection.   |OperationalError|network transient
DPY-6001: Service "X" is not registered with the listener            |OperationalError|permanent network transient
DPY-6005: cannot connect to database. [Errno 111] Connection refused |OperationalError|network transient
DPY-2001: "user" or "password" is missing                            |ProgrammingError|permission permanent validation
DPY-4005: timed out waiting for the connection pool to return        |DatabaseError   |resource transient network
DPY-1001: not connected to database                                  |InterfaceError  |network transient
DPY-3002: Python value of type "dict" is not supported               |NotSupportedError|permanent validation
"""


@vendor(OPENED, "oracledb", "https://docs.oracle.com/en/error-help/db/ and oracledb's errors.py")
def oracle() -> Iterator[Labelled]:
    import oracledb

    for line in ORACLE.strip().splitlines():
        text, name, right = (part.strip() for part in line.split("|"))
        code = text.partition(":")[0]
        number = int(code.partition("-")[2])
        error = type("_Error", (), {"__str__": lambda self: self.message})()
        error.code, error.full_code, error.message = number if code[:3] == "ORA" else 0, code, text
        yield Labelled(right, getattr(oracledb, name)(error), code)


MSSQL = """
40001|1205 |Transaction (Process ID 52) was deadlocked on lock resources          |transient resource
HYT00|1222 |Lock request time out period exceeded.                                |transient resource network
23000|2627 |Violation of PRIMARY KEY constraint 'PK'. Cannot insert duplicate key |validation permanent
23000|2601 |Cannot insert duplicate key row in object 'dbo.T'                     |validation permanent
23000|547  |The INSERT statement conflicted with the FOREIGN KEY constraint       |validation permanent
23000|515  |Cannot insert the value NULL into column 'A'                          |validation permanent
22001|8152 |String or binary data would be truncated.                             |validation permanent
22001|2628 |String or binary data would be truncated in table 'T'                 |validation permanent
22003|8115 |Arithmetic overflow error converting expression to data type int.     |validation permanent
28000|18456|Login failed for user 'app'.                                          |permission
28000|18452|Login failed. The login is from an untrusted domain                   |permission
42000|4060 |Cannot open database "shop" requested by the login. The login failed. |permission permanent
42000|229  |The SELECT permission was denied on the object 'T'                    |permission
42S02|208  |Invalid object name 'dbo.T'.                                          |permanent validation
42S22|207  |Invalid column name 'a'.                                              |permanent validation
42000|102  |Incorrect syntax near 'x'.                                            |permanent validation
HY000|40501|The service is currently busy. Retry the request after 10 seconds.    |resource transient
HY000|40613|Database 'shop' on server 'x' is not currently available.             |transient network
HY000|40197|The service has encountered an error processing your request.         |transient network
HY000|10928|Resource ID: 1. The request limit for the database is 60              |resource transient
HY000|10929|Resource ID: 1. The maximum limit for the database is 60              |resource transient
HY000|49918|Cannot process request. Not enough resources to process request.      |resource transient
HY000|40544|The database has reached its size quota.                              |resource permanent
HY000|1105 |Could not allocate space for object 'dbo.T' because the filegroup is full|resource
HY000|9002 |The transaction log for database 'shop' is full                       |resource transient
HY000|701  |There is insufficient system memory in resource pool 'default'        |resource transient
HY000|3960 |Snapshot isolation transaction aborted due to update conflict.        |transient
HY000|41302|The current transaction attempted to update a record that has been updated|transient
HY000|6005 |SHUTDOWN is in progress.                                              |transient network
08S01|10054|TCP Provider: An existing connection was forcibly closed by the remote host.|network transient
08001|10060|TCP Provider: A connection attempt failed                             |network transient
08001|17   |SQL Server does not exist or access denied.                           |network transient permanent
HYT00|0    |Login timeout expired                                                 |network transient
HYT00|0    |Query timeout expired                                                 |network transient resource
IM002|0    |[unixODBC][Driver Manager]Data source name not found                  |permanent validation
01000|0    |[unixODBC][Driver Manager]Can't open lib 'ODBC Driver 18': file not found|permanent
"""


def _sql_server() -> Iterator[tuple[str, int, str, str]]:
    for line in MSSQL.strip().splitlines():
        state, number, text, right = (part.strip() for part in line.split("|"))
        yield state, int(number), text, right


@vendor(
    OPENED, "pyodbc", "https://learn.microsoft.com/sql/relational-databases/errors-events; ODBC Appendix A"
)
def odbc() -> Iterator[Labelled]:
    # pyodbc needs unixODBC to be imported: its classes are rebuilt, which is all that rules see.
    for state, number, text, right in _sql_server():
        names = {
            "23": "IntegrityError",
            "22": "DataError",
            "28": "InterfaceError",
            "42": "ProgrammingError",
            "HY": "Error",
        }
        name = names.get(state[:2], "OperationalError")
        shown = f"[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{text} ({number}) (SQLExecDirectW)"
        exc = fake_class(f"pyodbc.{name}", ["pyodbc.DatabaseError", "pyodbc.Error"])()
        exc.args = (state, f"[{state}] {text if text.startswith('[unixODBC]') else shown}")
        exc.__dict__["said"] = str(exc.args)
        yield Labelled(right, exc, f"{state} {number}")


@vendor(OPENED, "pymssql", "https://learn.microsoft.com/sql/relational-databases/errors-events")
def tds() -> Iterator[Labelled]:
    import pymssql

    for _, number, text, right in _sql_server():
        if number and number not in {17, 10054, 10060}:
            said = f"{text}DB-Lib error message 20018, severity 14:\nGeneral SQL Server error: Check messages from the SQL Server\n".encode()
            kind = (
                pymssql.IntegrityError
                if number in {2627, 2601, 547, 515}
                else pymssql.OperationalError
                if number != 208
                else pymssql.ProgrammingError
            )
            yield Labelled(right, kind(number, said), str(number))
    for number, text, right in (
        (20002, "Adaptive Server connection failed (db)", NET), (20009, "Unable to connect: Adaptive Server is unavailable or does not exist", NET),
        (20003, "Adaptive Server connection timed out", NET), (20006, "Write to the server failed", NET), (20047, "DBPROCESS is dead or not enabled", NET),
    ):  # fmt: skip
        yield Labelled(
            right,
            pymssql.OperationalError(
                number, f"DB-Lib error message {number}, severity 9:\n{text}\n".encode()
            ),
            str(number),
        )


CLICKHOUSE = """
241|MEMORY_LIMIT_EXCEEDED     |Memory limit (total) exceeded: would use 9 GiB        |resource transient
202|TOO_MANY_SIMULTANEOUS_QUERIES|Too many simultaneous queries. Maximum: 100        |resource transient
252|TOO_MANY_PARTS            |Too many parts (300). Merges are processing slower than inserts|resource transient
159|TIMEOUT_EXCEEDED          |Timeout exceeded: elapsed 30 seconds, maximum: 30     |transient resource network
160|TOO_SLOW                  |Estimated query execution time is too long            |transient resource permanent
209|SOCKET_TIMEOUT            |Timeout exceeded while reading from socket            |network transient
210|NETWORK_ERROR             |Connection refused                                    |network transient
279|ALL_CONNECTION_TRIES_FAILED|All connection tries failed                          |network transient
242|TABLE_IS_READ_ONLY        |Table is in readonly mode                             |transient resource
243|NOT_ENOUGH_SPACE           |Cannot reserve 1.00 MiB, not enough space             |resource
999|KEEPER_EXCEPTION          |Coordination::Exception: Session expired              |transient network
319|UNKNOWN_STATUS_OF_INSERT  |Unknown status, client must retry                     |transient
285|TOO_FEW_LIVE_REPLICAS     |Number of alive replicas is less than requested       |transient resource
201|QUOTA_EXCEEDED            |Quota for user has been exceeded                      |resource transient
516|AUTHENTICATION_FAILED     |default: Authentication failed: password is incorrect |permission
497|ACCESS_DENIED             |Not enough privileges. To execute this query          |permission
192|UNKNOWN_USER              |Unknown user app                                      |permission permanent
193|WRONG_PASSWORD            |Wrong password for user app                           |permission
164|READONLY                  |Cannot execute query in readonly mode                 |permission permanent
60 |UNKNOWN_TABLE             |Table default.t doesn't exist                         |permanent validation
81 |UNKNOWN_DATABASE          |Database x doesn't exist                              |permanent validation
47 |UNKNOWN_IDENTIFIER        |Missing columns: 'a' while processing query           |permanent validation
62 |SYNTAX_ERROR              |Syntax error: failed at position 1                    |permanent validation
57 |TABLE_ALREADY_EXISTS      |Table default.t already exists                        |validation permanent
53 |TYPE_MISMATCH             |Type mismatch in IN or VALUES section                 |validation permanent
27 |CANNOT_PARSE_INPUT_ASSERTION_FAILED|Cannot parse input: expected ','              |validation permanent
6  |CANNOT_PARSE_TEXT         |Cannot parse string 'x' as UInt64                     |validation permanent
43 |ILLEGAL_TYPE_OF_ARGUMENT  |Illegal type String of argument of function plus      |validation permanent
"""


def _clickhouse() -> Iterator[tuple[int, str, str, str]]:
    for line in CLICKHOUSE.strip().splitlines():
        code, name, text, right = (part.strip() for part in line.split("|"))
        yield int(code), name, text, right


CLICKHOUSE_SOURCE = "https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp"


@vendor(OPENED, "clickhouse-driver", CLICKHOUSE_SOURCE)
def clickhouse_native() -> Iterator[Labelled]:
    import clickhouse_driver.errors as ce

    for code, _, text, right in _clickhouse():
        yield Labelled(right, ce.ServerException(f"DB::Exception: {text}", code), str(code))
    yield Labelled(NET, ce.NetworkError("Connection refused (127.0.0.1:9000)"))
    yield Labelled(NET, ce.SocketTimeoutError("(127.0.0.1:9000)"))
    yield Labelled(NET, ce.UnexpectedPacketFromServerError("Unexpected packet from server"))


@vendor(OPENED, "clickhouse-connect", CLICKHOUSE_SOURCE)
def clickhouse_http() -> Iterator[Labelled]:
    import clickhouse_connect.driver.exceptions as cx

    for code, name, text, right in _clickhouse():
        said = f"Received ClickHouse exception, code: {code}, server response: Code: {code}. DB::Exception: {text}. ({name}) (for url http://127.0.0.1:8123)"
        yield Labelled(right, cx.DatabaseError(said), name)
    yield Labelled(
        NET,
        cx.OperationalError(
            "Error HTTPConnectionPool(host='x', port=8123): Max retries exceeded with url: / (Caused by NewConnectionError('Connection refused'))"
        ),
    )


@vendor(
    OPENED,
    "cassandra-driver",
    "https://docs.datastax.com/en/developer/python-driver/latest/api/cassandra; native protocol v5, section 9",
)
def cassandra() -> Iterator[Labelled]:
    import cassandra as ca
    import cassandra.cluster as cc
    import cassandra.connection as cn

    bad = ca.AuthenticationFailed(
        'Failed to authenticate to 10.0.0.1: Error from server: code=0100 [Bad credentials] message="Provided username app and/or password are incorrect"'
    )
    yield Labelled(
        "permission",
        cc.NoHostAvailable("Unable to connect to any servers", {"10.0.0.1:9042": bad}),
        "a password behind an error of connection",
    )
    yield Labelled("permission", bad)
    yield Labelled(
        NET,
        cc.NoHostAvailable(
            "Unable to connect to any servers",
            {"10.0.0.1:9042": ConnectionRefusedError(111, "Connection refused")},
        ),
    )
    yield Labelled(NET, cc.NoHostAvailable("Unable to complete the operation against any hosts", {}))
    yield Labelled(
        AGAIN,
        ca.Unavailable(
            "Error from server: code=1000 [Unavailable exception]",
            consistency=4,
            required_replicas=2,
            alive_replicas=1,
        ),
    )
    yield Labelled(
        AGAIN,
        ca.ReadTimeout(
            "Error from server: code=1200 [Coordinator node timed out waiting for replica nodes' responses]",
            consistency=1,
            required_responses=2,
            received_responses=1,
        ),
    )
    yield Labelled(
        AGAIN,
        ca.WriteTimeout(
            "Error from server: code=1100 [Coordinator node timed out waiting for replica nodes' responses]",
            consistency=1,
            write_type=0,
        ),
    )
    yield Labelled(
        AGAIN, ca.OperationTimedOut(errors={"10.0.0.1": "Client request timeout."}, last_host="10.0.0.1")
    )
    yield Labelled(
        AGAIN,
        ca.ReadFailure("Error from server: code=1300 [Replica(s) failed to execute read]", consistency=1),
    )
    yield Labelled(
        AGAIN,
        ca.WriteFailure("Error from server: code=1500 [Replica(s) failed to execute write]", consistency=1),
    )
    yield Labelled(
        "permanent validation",
        ca.InvalidRequest('Error from server: code=2200 [Invalid query] message="unconfigured table t"'),
    )
    yield Labelled(
        "permission",
        ca.Unauthorized(
            'Error from server: code=2100 [Unauthorized] message="User app has no SELECT permission"'
        ),
    )
    yield Labelled("validation permanent", ca.AlreadyExists(keyspace="shop", table="t"))
    yield Labelled("permanent", ca.UnsupportedOperation("Batches need protocol 2"))
    yield Labelled("permanent validation", ca.FunctionFailure("told", "ks", "f", ["int"]))
    yield Labelled("permanent network", ca.UnresolvableContactPoints({}))
    yield Labelled(FULL + " network", cc.NoConnectionsAvailable("no connections"))
    yield Labelled(NET, cn.ConnectionShutdown("Connection to 10.0.0.1 was closed"))
    yield Labelled(FULL + " network", cn.ConnectionBusy("Connection is busy"))


NEO4J = """
Neo.ClientError.Security.Unauthorized              |permission
Neo.ClientError.Security.AuthenticationRateLimit   |permission resource
Neo.ClientError.Security.CredentialsExpired        |permission
Neo.ClientError.Security.Forbidden                 |permission
Neo.ClientError.Security.TokenExpired              |permission transient
Neo.ClientError.Statement.SyntaxError              |permanent validation
Neo.ClientError.Statement.ParameterMissing         |validation permanent
Neo.ClientError.Statement.TypeError                |validation permanent
Neo.ClientError.Statement.ArithmeticError          |validation permanent
Neo.ClientError.Schema.ConstraintValidationFailed  |validation permanent
Neo.ClientError.Schema.IndexNotFound               |permanent validation
Neo.ClientError.Database.DatabaseNotFound          |permanent validation
Neo.ClientError.Cluster.NotALeader                 |transient network
Neo.ClientError.General.ForbiddenOnReadOnlyDatabase|transient permission network
Neo.ClientError.Transaction.TransactionTimedOut    |transient permanent resource
Neo.TransientError.Transaction.DeadlockDetected    |transient
Neo.TransientError.Transaction.Outdated            |transient
Neo.TransientError.Transaction.LockAcquisitionTimeout|transient resource
Neo.TransientError.General.OutOfMemoryError        |resource transient
Neo.TransientError.General.MemoryPoolOutOfMemoryError|resource transient
Neo.TransientError.General.DatabaseUnavailable     |transient network
Neo.TransientError.Request.NoThreadsAvailable      |resource transient
Neo.TransientError.Network.CommunicationError      |network transient
Neo.DatabaseError.General.UnknownError             |transient permanent
Neo.DatabaseError.Transaction.TransactionStartFailed|transient
Neo.DatabaseError.Statement.ExecutionFailed        |transient permanent
"""


@vendor(OPENED, "neo4j", "https://neo4j.com/docs/status-codes/current/errors/all-errors/")
def graph() -> Iterator[Labelled]:
    import neo4j.exceptions as ne

    for line in NEO4J.strip().splitlines():
        code, right = (part.strip() for part in line.split("|"))
        yield Labelled(right, ne.Neo4jError._hydrate_neo4j(code=code, message="told by the server"), code)
    yield Labelled(NET, ne.ServiceUnavailable("Couldn't connect to 127.0.0.1:7687"))
    yield Labelled(NET, ne.SessionExpired("Failed to read from defunct connection"))
    yield Labelled(AGAIN, ne.WriteServiceUnavailable("Unable to retrieve write server"))
    yield Labelled("permission permanent", ne.ConfigurationError("bad auth scheme"))
    yield Labelled("permanent validation", ne.ResultConsumedError(None, "The result has been consumed"))
    yield Labelled(
        FULL + " network",
        ne.ConnectionAcquisitionTimeoutError(
            "failed to obtain a connection from the pool within 60.0s (timeout)"
        ),
    )


KAFKA = """
-195 network transient            # _TRANSPORT: Broker transport failure
-193 network transient permanent  # _RESOLVE: Host resolution failure
-192 network transient resource   # _MSG_TIMED_OUT
-187 network transient            # _ALL_BROKERS_DOWN
-185 network transient            # _TIMED_OUT
-184 resource transient           # _QUEUE_FULL
-180 transient network            # _WAIT_COORD
-169 permission                   # _AUTHENTICATION
-181 permanent permission         # _SSL
-186 validation permanent         # _INVALID_ARG
-190 permanent validation         # _UNKNOWN_PARTITION
-188 permanent validation         # _UNKNOWN_TOPIC
-165 permanent                    # _UNSUPPORTED_FEATURE
-150 permanent                    # _FATAL
-144 permanent                    # _FENCED
2    transient validation network # CORRUPT_MESSAGE, retriable
3    transient permanent          # UNKNOWN_TOPIC_OR_PARTITION, retriable
5    transient network            # LEADER_NOT_AVAILABLE
6    transient network            # NOT_LEADER_FOR_PARTITION
7    network transient            # REQUEST_TIMED_OUT
8    transient network            # BROKER_NOT_AVAILABLE
10   validation permanent         # MSG_SIZE_TOO_LARGE
13   network transient            # NETWORK_EXCEPTION
14   transient network            # COORDINATOR_LOAD_IN_PROGRESS
15   transient network            # COORDINATOR_NOT_AVAILABLE
16   transient network            # NOT_COORDINATOR
17   validation permanent         # TOPIC_EXCEPTION
18   validation permanent         # RECORD_LIST_TOO_LARGE
19   transient resource           # NOT_ENOUGH_REPLICAS
20   transient resource           # NOT_ENOUGH_REPLICAS_AFTER_APPEND
22   transient permanent          # ILLEGAL_GENERATION
25   transient permanent          # UNKNOWN_MEMBER_ID
27   transient                    # REBALANCE_IN_PROGRESS
29   permission                   # TOPIC_AUTHORIZATION_FAILED
30   permission                   # GROUP_AUTHORIZATION_FAILED
31   permission                   # CLUSTER_AUTHORIZATION_FAILED
35   permanent                    # UNSUPPORTED_VERSION
36   validation permanent         # TOPIC_ALREADY_EXISTS
37   validation permanent         # INVALID_PARTITIONS
38   validation permanent         # INVALID_REPLICATION_FACTOR
40   validation permanent         # INVALID_CONFIG
41   transient network            # NOT_CONTROLLER
42   validation permanent         # INVALID_REQUEST
44   validation permanent         # POLICY_VIOLATION
47   permanent                    # INVALID_PRODUCER_EPOCH
51   transient                    # CONCURRENT_TRANSACTIONS
53   permission                   # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
56   transient resource           # KAFKA_STORAGE_ERROR, retriable
58   permission                   # SASL_AUTHENTICATION_FAILED
69   permanent                    # GROUP_ID_NOT_FOUND
87   validation permanent         # INVALID_RECORD
89   resource transient           # THROTTLING_QUOTA_EXCEEDED
"""


@vendor(
    OPENED,
    "confluent-kafka",
    "https://kafka.apache.org/protocol#protocol_error_codes; librdkafka's rdkafka.h",
)
def librdkafka() -> Iterator[Labelled]:
    import confluent_kafka as ck

    for line in KAFKA.strip().splitlines():
        number, _, rest = line.partition(" ")
        right, _, name = (part.strip() for part in rest.partition("#"))
        yield Labelled(right, ck.KafkaException(ck.KafkaError(int(number))), name)
    yield Labelled(FULL, BufferError("Local: Queue full"), "Producer.produce, when its queue is full")


SALESFORCE = """
SalesforceRefusedRequest    403 REQUEST_LIMIT_EXCEEDED     |resource
SalesforceRefusedRequest    403 API_DISABLED_FOR_ORG       |permission permanent
SalesforceRefusedRequest    403 INSUFFICIENT_ACCESS        |permission
SalesforceExpiredSession    401 INVALID_SESSION_ID         |permission
SalesforceMalformedRequest  400 UNABLE_TO_LOCK_ROW         |transient
SalesforceMalformedRequest  400 REQUIRED_FIELD_MISSING     |validation permanent
SalesforceMalformedRequest  400 FIELD_CUSTOM_VALIDATION_EXCEPTION|validation permanent
SalesforceMalformedRequest  400 DUPLICATE_VALUE            |validation permanent
SalesforceMalformedRequest  400 INVALID_FIELD              |validation permanent
SalesforceMalformedRequest  400 MALFORMED_QUERY            |validation permanent
SalesforceMalformedRequest  400 STRING_TOO_LONG            |validation permanent
SalesforceMalformedRequest  400 INSUFFICIENT_ACCESS_OR_READONLY|permission
SalesforceMalformedRequest  400 INVALID_CROSS_REFERENCE_KEY|validation permanent
SalesforceMalformedRequest  400 ENTITY_IS_DELETED          |permanent validation
SalesforceMalformedRequest  400 QUERY_TIMEOUT              |transient network resource
SalesforceMalformedRequest  400 STORAGE_LIMIT_EXCEEDED     |resource permanent
SalesforceMalformedRequest  400 CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY|validation permanent
SalesforceResourceNotFound  404 NOT_FOUND                  |permanent validation
SalesforceGeneralError      500 UNKNOWN_EXCEPTION          |transient permanent
SalesforceGeneralError      503 SERVER_UNAVAILABLE         |transient network resource
"""


@vendor(
    OPENED,
    "simple-salesforce",
    "https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_concepts_core_data_objects.htm",
)
def salesforce() -> Iterator[Labelled]:
    import simple_salesforce.exceptions as se

    for line in SALESFORCE.strip().splitlines():
        left, right = line.split("|")
        name, status, code = left.split()
        yield Labelled(
            right,
            getattr(se, name)(
                "https://x/sobjects", int(status), "sobjects", [{"message": "told", "errorCode": code}]
            ),
            code,
        )
    yield Labelled(
        "permission",
        se.SalesforceAuthenticationFailed(
            "INVALID_LOGIN", "Invalid username, password, security token; or user locked out."
        ),
    )
    yield Labelled(
        "resource transient permission",
        se.SalesforceAuthenticationFailed("LOGIN_RATE_EXCEEDED", "login rate exceeded"),
    )
    yield Labelled(
        "transient network", se.SalesforceAuthenticationFailed("SERVER_UNAVAILABLE", "server unavailable")
    )


@vendor(
    OPENED,
    "imaplib and poplib",
    "RFC 5530 (IMAP response codes), RFC 2449 and RFC 3206 (POP3 response codes)",
)
def mailboxes() -> Iterator[Labelled]:
    for text, right in (
        ("[UNAVAILABLE] User's backend is down for maintenance", "transient network resource"), ("[AUTHENTICATIONFAILED] Authentication failed", "permission"),
        ("[AUTHORIZATIONFAILED] Authorization failed", "permission"), ("[EXPIRED] password has expired", "permission"), ("[PRIVACYREQUIRED] Connection must be encrypted", "permission permanent"),
        ("[CONTACTADMIN] call the help desk", "permission permanent"), ("[NOPERM] no permission", "permission"), ("[INUSE] Mailbox in use", "transient resource"),
        ("[EXPUNGEISSUED] Someone else has already expunged", "transient permanent"), ("[CORRUPTION] Cannot open mailbox", "permanent"), ("[SERVERBUG] internal error", "transient permanent"),
        ("[CLIENTBUG] bad command", "permanent validation"), ("[CANNOT] You cannot create that", "permanent validation"), ("[LIMIT] At most 32 flags", "resource permanent validation"),
        ("[OVERQUOTA] Sorry", "resource"), ("[ALREADYEXISTS] Mailbox already exists", "validation permanent"), ("[NONEXISTENT] No such mailbox", "permanent validation"),
        ("[TRYCREATE] Mailbox does not exist", "permanent validation"), ("[THROTTLED] Account exceeded command limits", "resource transient"),
    ):  # fmt: skip
        yield Labelled(right, imaplib.IMAP4.error(text.encode()), text)
        yield Labelled(right, imaplib.IMAP4.error(f"APPEND command error: BAD [b'{text}']"), text)
    for text, right in (
        (b"-ERR [IN-USE] Do you have another POP session running?", "transient resource"), (b"-ERR [LOGIN-DELAY] minimum time between mail checks violation", "resource transient"),
        (b"-ERR [SYS/TEMP] mail store is down", "transient network resource"), (b"-ERR [SYS/PERM] corrupt mailbox", "permanent"), (b"-ERR [AUTH] Invalid login or password", "permission"),
        (b"-ERR no such message", "permanent validation"),
    ):  # fmt: skip
        yield Labelled(right, poplib.error_proto(text), text.decode())
    yield Labelled(NET, imaplib.IMAP4.abort("socket error: EOF"))
    yield Labelled(
        NET, imaplib.IMAP4.abort("command: SELECT => socket error: [Errno 104] Connection reset by peer")
    )
    yield Labelled(NET, poplib.error_proto("-ERR EOF"))


@vendor(
    OPENED, "azure-cosmos", "https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb"
)
def cosmos() -> Iterator[Labelled]:
    import azure.cosmos.exceptions as ac

    for status, right, kind in (
        (449, "transient", ac.CosmosHttpResponseError), (429, "resource", ac.CosmosHttpResponseError), (410, "transient network", ac.CosmosHttpResponseError),
        (503, "transient network", ac.CosmosHttpResponseError), (408, "transient network", ac.CosmosHttpResponseError), (500, "transient", ac.CosmosHttpResponseError),
        (400, "validation permanent", ac.CosmosHttpResponseError), (401, "permission", ac.CosmosHttpResponseError), (403, "permission", ac.CosmosHttpResponseError),
        (404, "permanent validation", ac.CosmosResourceNotFoundError), (409, "validation permanent transient", ac.CosmosResourceExistsError),
        (412, "permanent validation transient", ac.CosmosAccessConditionFailedError), (413, "validation permanent", ac.CosmosHttpResponseError),
    ):  # fmt: skip
        yield Labelled(right, kind(status_code=status, message="told"), str(status))
    yield Labelled(NET, ac.CosmosClientTimeoutError())


SNOWFLAKE = """
250001 08001 DatabaseError    |Failed to connect to DB: x.snowflakecomputing.com:443. Incorrect username or password was specified.|permission
250001 08001 DatabaseError    |Could not connect to Snowflake backend after 2 attempt(s).Aborting|network transient
250003 08001 OperationalError |Failed to execute request: Connection reset by peer|network transient
251012 08001 OperationalError |Login request is retryable. Will be handled by authenticator|network transient permission
390100 08001 DatabaseError    |Incorrect username or password was specified.|permission
390144 08001 DatabaseError    |JWT token is invalid.|permission
390114 08001 ProgrammingError |Authentication token has expired. The user must authenticate again.|permission transient
390201 08001 DatabaseError    |The requested warehouse does not exist or not authorized.|permission permanent
390422 08001 DatabaseError    |Incoming request with IP/Token 1.2.3.4 is not allowed to access Snowflake.|permission
1003   42000 ProgrammingError |SQL compilation error: syntax error line 1|permanent validation
2003   02000 ProgrammingError |SQL compilation error: Object 'T' does not exist or not authorized.|permanent validation permission
2043   02000 ProgrammingError |SQL compilation error: Object does not exist, or operation cannot be performed.|permanent validation permission
3001   42501 ProgrammingError |SQL access control error: Insufficient privileges to operate on table 'T'|permission
100038 22018 ProgrammingError |Numeric value 'x' is not recognized|validation permanent
100072 22000 IntegrityError   |NULL result in a non-nullable column|validation permanent
100078 22000 DataError        |String 'x' is too long and would be truncated|validation permanent
604    57014 ProgrammingError |SQL execution canceled|transient permanent
630    57014 ProgrammingError |Statement reached its statement or warehouse timeout of 5 second(s) and was canceled.|transient resource permanent
625    57014 ProgrammingError |Statement 'x' has locked table 'T' in transaction 1 and this lock has not yet been released.|transient resource
90073  22000 ProgrammingError |Warehouse 'WH' cannot be resumed because resource monitor 'M' has exceeded its quota.|resource permanent permission
606    57P03 ProgrammingError |No active warehouse selected in the current session.|permanent validation
300005 XX000 InternalError    |Processing aborted by error 300005|transient
"""


@vendor(
    OPENED,
    "snowflake",
    "https://docs.snowflake.com/en/user-guide/client-connectivity-troubleshooting; snowflake.connector.errorcode",
)
def snowflake() -> Iterator[Labelled]:
    import snowflake.connector.errors as sf

    for line in SNOWFLAKE.strip().splitlines():
        left, text, right = line.split("|")
        number, state, name = left.split()
        yield Labelled(
            right,
            getattr(sf, name)(msg=text, errno=int(number), sqlstate=state, sfqid=None),
            f"{number} {text[:40]}",
        )


@vendor(
    OPENED, "dropbox", "https://www.dropbox.com/developers/documentation/http/documentation#error-handling"
)
def files() -> Iterator[Labelled]:
    import dropbox.exceptions as de

    yield Labelled("permission", de.AuthError("r1", "AuthError('invalid_access_token', None)"))
    yield Labelled("resource transient", de.RateLimitError("r1", None, 30))
    yield Labelled("transient", de.InternalServerError("r1", 500, "busy"))
    yield Labelled("transient network", de.HttpError("r1", 503, "Service Unavailable"))
    yield Labelled("validation permanent", de.BadInputError("r1", "Error in call to API function"))
    yield Labelled("permission", de.HttpError("r1", 403, "not allowed"))


@vendor(
    OPENED,
    "huggingface_hub",
    "https://huggingface.co/docs/huggingface_hub/package_reference/utilities#errors",
)
def models() -> Iterator[Labelled]:
    import httpx2
    import huggingface_hub.errors as he

    for status, name, right in (
        (404, "RepositoryNotFoundError", "permanent permission"), (401, "GatedRepoError", "permission"), (403, "DisabledRepoError", "permission permanent"), (404, "RevisionNotFoundError", "permanent"),
        (429, "HfHubHTTPError", "resource"), (500, "HfHubHTTPError", "transient"), (502, "HfHubHTTPError", "transient network"), (400, "BadRequestError", "validation permanent"), (504, "HfHubHTTPError", "transient network"),
    ):  # fmt: skip
        response = httpx2.Response(status, request=httpx2.Request("GET", "https://huggingface.co/api"))
        yield Labelled(
            right, getattr(he, name)(f"{status} Client Error", response=response), f"{status} {name}"
        )
    yield Labelled("permission", he.LocalTokenNotFoundError("Token is required"))
    yield Labelled("resource transient", he.OverloadedError("Model is overloaded"))
    yield Labelled("validation permanent", he.HFValidationError("Repo id must be in the form"))
    yield Labelled("network transient", he.InferenceTimeoutError("Model not loaded on the server"))


@vendor(
    OPENED, "kazoo", "https://kazoo.readthedocs.io/en/latest/api/exceptions.html; ZooKeeper's KeeperException"
)
def zookeeper() -> Iterator[Labelled]:
    import kazoo.exceptions as ke
    import kazoo.handlers.threading as kt

    for name, right in (
        ("ConnectionLoss", NET), ("OperationTimeoutError", NET), ("SessionExpiredError", "transient network"), ("SessionMovedError", "transient network"), ("ConnectionDropped", NET), ("ConnectionClosedError", NET),
        ("NoAuthError", "permission"), ("AuthFailedError", "permission"), ("InvalidACLError", "permission validation permanent"), ("NoNodeError", "permanent validation"),
        ("NodeExistsError", "validation permanent"), ("BadVersionError", "transient permanent validation"), ("NotEmptyError", "permanent validation"), ("BadArgumentsError", "validation permanent"),
        ("UnimplementedError", "permanent"), ("MarshallingError", "validation permanent"), ("QuotaExceededError", "resource"), ("ThrottledOpError", "resource transient"),
        ("LockTimeout", "transient resource network"), ("NotReadOnlyCallError", "transient permission network"), ("RequestTimeoutError", NET),
        ("NoChildrenForEphemeralsError", "permanent validation"), ("SystemZookeeperError", "transient"),
    ):  # fmt: skip
        yield Labelled(right, getattr(ke, name)(), name)
    yield Labelled(NET, kt.KazooTimeoutError("Connection time-out"))


OSS = """
403 AccessDenied             |permission
403 SignatureDoesNotMatch    |permission
403 InvalidAccessKeyId       |permission
403 SecurityTokenExpired     |permission
403 RequestTimeTooSkewed     |permission
403 UserDisable              |permission permanent
403 InvalidObjectState       |permanent validation transient
404 NoSuchBucket             |permanent validation
404 NoSuchKey                |permanent validation
409 BucketAlreadyExists      |validation permanent
409 BucketNotEmpty           |permanent validation
409 FileAlreadyExists        |validation permanent
400 InvalidArgument          |validation permanent
400 InvalidBucketName        |validation permanent
400 EntityTooLarge           |validation permanent
400 TooManyBuckets           |resource validation permanent
400 RequestTimeout           |transient network
503 DownloadTrafficRateLimitExceeded|resource transient
503 UploadTrafficRateLimitExceeded|resource transient
503 ServiceUnavailable       |transient network resource
500 InternalError            |transient
429 TooManyRequests          |resource
"""


@vendor(OPENED, "oss2", "https://www.alibabacloud.com/help/en/oss/developer-reference/error-codes")
def alibaba() -> Iterator[Labelled]:
    import oss2.exceptions as oe
    import requests

    for line in OSS.strip().splitlines():
        left, right = line.split("|")
        status, code = left.split()
        yield Labelled(
            right,
            oe.ServerError(
                int(status),
                {"x-oss-request-id": "1"},
                b"<Error/>",
                {"Code": code, "Message": "told", "RequestId": "1"},
            ),
            code,
        )
    yield Labelled(NET, oe.RequestError(requests.ConnectionError("Connection refused")))


@vendor(OPENED, "discord.py", "https://discord.com/developers/docs/topics/opcodes-and-status-codes")
def discord() -> Iterator[Labelled]:
    import discord.errors as de

    def answer(status: int, reason: str) -> Any:
        return SimpleNamespace(status=status, reason=reason, headers={})

    for kind, status, code, right in (
        ("HTTPException", 429, 0, "resource"), ("Forbidden", 403, 50013, "permission"), ("Forbidden", 403, 50007, "permission permanent"), ("NotFound", 404, 10008, "permanent"), ("HTTPException", 400, 50035, "validation permanent"),
        ("HTTPException", 401, 0, "permission"), ("DiscordServerError", 500, 0, "transient"), ("DiscordServerError", 503, 0, "transient network"), ("HTTPException", 400, 30001, "permanent validation resource"),
    ):  # fmt: skip
        yield Labelled(
            right,
            getattr(de, kind)(answer(status, "told"), {"code": code, "message": "told"}),
            f"{status} {code}",
        )
    yield Labelled("permission", de.LoginFailure("Improper token has been passed."))
    yield Labelled("resource transient", de.RateLimited(12.5))
    yield Labelled("network transient", de.GatewayNotFound())
    yield Labelled("permission permanent", de.PrivilegedIntentsRequired(None))


@vendor(
    OPENED,
    "names through clients",
    "getaddrinfo(3): EAI_NONAME, the name is not known; EAI_AGAIN, the server did not answer",
)
def names() -> Iterator[Labelled]:
    import socket

    import redis.exceptions
    import requests
    import urllib3
    from urllib3.exceptions import MaxRetryError, NameResolutionError

    pool = urllib3.HTTPSConnectionPool("nohost.invalid")
    for number, text, right in (
        (socket.EAI_NONAME, "Name or service not known", "permanent"), (socket.EAI_AGAIN, "Temporary failure in name resolution", "network"), (socket.EAI_NODATA, "No address associated with hostname", "permanent"),
    ):  # fmt: skip
        unknown = socket.gaierror(number, text)
        inner = caused(NameResolutionError("nohost.invalid", pool, unknown), unknown)
        outer = caused(MaxRetryError(pool, "/v1", inner), inner)
        yield Labelled(right, unknown, "itself")
        yield Labelled(right, inner, "urllib3")
        yield Labelled(right, outer, "urllib3, after its retries")
        yield Labelled(
            right, caught(lambda outer=outer: _raise_in(requests.ConnectionError(outer), outer)), "requests"
        )
        yield Labelled(
            right,
            requests.ConnectionError(
                MaxRetryError(pool, "/v1", NameResolutionError("nohost.invalid", pool, unknown))
            ),
            "requests, without a chain",
        )
        yield Labelled(
            right,
            caused(
                redis.exceptions.ConnectionError(
                    f"Error {number} connecting to nohost.invalid:6379. {text}."
                ),
                unknown,
            ),
            "redis",
        )
        yield Labelled(
            right,
            redis.exceptions.ConnectionError(f"Error {number} connecting to nohost.invalid:6379. {text}."),
            "redis, without a chain",
        )
        yield Labelled(
            right,
            RuntimeError(
                f"HTTPSConnectionPool(host='nohost.invalid', port=443): Max retries exceeded (Caused by NameResolutionError(\"Failed to resolve 'nohost.invalid' ([Errno {number}] {text})\"))"
            ),
            "as text",
        )


def _raise_in(outer: BaseException, handled: BaseException) -> None:
    try:
        raise handled
    except type(handled):
        raise outer  # noqa: B904


@vendor(
    OPENED, "words alone", "messages of Go, Node.js, Java and gRPC clients that scripts and bridges pass on"
)
def words() -> Iterator[Labelled]:
    kind = type("VendorError", (Exception,), {"__module__": "vendor.sdk"})
    for text, right in (
        ("context deadline exceeded", AGAIN), ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", AGAIN), ("Deadline exceeded", AGAIN), ("connect ETIMEDOUT 10.0.0.1:443", NET), ("ETIMEDOUT", NET),
        ("Request timeout", AGAIN), ("Request timeout after 30000 ms", AGAIN), ("connect ECONNREFUSED 127.0.0.1:6379", NET), ("read ECONNRESET", NET), ("getaddrinfo ENOTFOUND nohost.invalid", "permanent network"),
        ("getaddrinfo EAI_AGAIN db", NET), ("write EPIPE", NET), ("java.net.SocketTimeoutException: Read timed out", NET), ("java.net.ConnectException: Connection refused", NET), ("dial tcp 10.0.0.1:5432: i/o timeout", NET),
        ("dial tcp: lookup nohost.invalid: no such host", "permanent network"), ("java.net.UnknownHostException: nohost.invalid", "permanent network"), ("unexpected EOF", NET), ("Gateway timeout", AGAIN), ("operation timed out", AGAIN),
        ("The request timed out", AGAIN), ("connection timeout", NET), ("upstream connect error or disconnect/reset before headers", NET), ("Service overloaded, please retry", "resource transient"), ("Quota exceeded for today", "resource"),
        ("Too Many Requests", "resource"), ("HTTP 429", "resource"), ("You have exceeded your monthly spending limit", "permanent resource"), ("Insufficient credits", "permanent"), ("Payment required", "permanent"),
        ("x509: certificate signed by unknown authority", "permanent"), ("Invalid API key provided", "permission"), ("Bad credentials", "permission"), ("token has expired", "permission"), ("Access denied", "permission"),
    ):  # fmt: skip
        yield Labelled(right, kind(text), text)
    for text in (
        "the deadline of the order was exceeded by the customer",
        "no timeout was given for request 17",
        "ETIMEDOUTS is not a table",
    ):
        yield Labelled(f"transient {NEVER}", kind(text), f"no such words: {text}")


@vendor(
    OPENED, "spent and refused", "the vendors' pages on billing errors and on 401; RFC 9110 section 15.5.2"
)
def spent() -> Iterator[Labelled]:
    import json

    import requests

    def answer(status: int, body: Any) -> BaseException:
        response = requests.Response()
        response.status_code, response.url, response.reason = status, "https://api.example.com/v1", "told"
        response._content = json.dumps(body).encode()
        return caught(response.raise_for_status)

    for status, body, right in (
        (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota, please check your plan and billing details."}}, "permanent"),
        (429, {"error": {"message": "You exceeded your current quota, please check your plan and billing details."}}, "permanent"),
        (403, {"error": {"message": "Your account has reached its monthly spend limit"}}, "permanent permission"),
        (402, {"error": {"message": "Payment required"}}, "permanent"), (429, {"error": {"message": "Monthly usage limit reached. Upgrade your plan."}}, "permanent resource"),
        (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}}, "permanent"),
        (429, {"error": {"message": "Rate limit reached for requests per minute"}}, "resource"),
        (401, {"error": {"type": "invalid_request_error", "code": None, "message": "Incorrect API key provided"}}, "permission"), (401, {"type": "error", "error": {"type": "authentication_error"}}, "permission"),
        (401, {"error": {"type": "server_error", "message": "token"}}, "permission"), (401, {"error": "invalid_request"}, "permission"), (403, {"error": {"type": "invalid_request_error"}}, "permission"),
        (401, {"error": "temporarily_unavailable"}, "transient permission"), (400, {"error": "invalid_grant"}, "permission validation"), (400, {"error": "invalid_client"}, "permission validation"),
        (400, {"error": "invalid_request"}, "validation permanent"),
    ):  # fmt: skip
        yield Labelled(right, answer(status, body), f"{status} {body}"[:90])
