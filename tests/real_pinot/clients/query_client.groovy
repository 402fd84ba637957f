// Pinot's Java query client and its JDBC driver, in every way in which they find a broker. One line of JSON for each.
// Arguments: controller host:port, broker host:port, ZooKeeper address, cluster, authorization header, user, password, table.
import groovy.json.JsonOutput
import java.sql.DriverManager
import java.util.concurrent.TimeUnit
import org.apache.pinot.client.ConnectionFactory
import org.apache.pinot.client.JsonAsyncHttpPinotClientTransportFactory

def (controller, broker, zookeeper, cluster, authorization, user, password, table) = args
def sql = "select v, n, day from " + table + " where n < 3 order by v, n limit 10"
def tell = { String name, Closure work ->
  def said
  try {
    said = [rows: work()]
  } catch (Throwable fault) {
    said = [error: fault.toString() + " " + (fault.cause ?: "")]
  }
  println "RESULT " + JsonOutput.toJson([name, said])
}
def properties = new Properties()
properties.setProperty("headers.Authorization", authorization)
def transport = { String header ->
  def factory = new JsonAsyncHttpPinotClientTransportFactory()
  factory.setHeaders(["Authorization": header])
  factory.buildTransport()
}
def rowsOf = { group ->
  if (group.exceptions) {
    throw new IllegalStateException(group.exceptions.collect { it.message }.join("; "))
  }
  def found = group.getResultSet(0)
  [[*(0..<found.columnCount).collect { found.getColumnName(it) }],
   *(0..<found.rowCount).collect { r -> (0..<found.columnCount).collect { found.getString(r, it) } }]
}

tell("hosts") { rowsOf(ConnectionFactory.fromHostList(new Properties(), [broker], transport(authorization)).execute(sql)) }
tell("asynchronous") {
  rowsOf(ConnectionFactory.fromHostList(new Properties(), [broker], transport(authorization)).executeAsync(sql).get(60, TimeUnit.SECONDS))
}
tell("prepared") {
  def statement = ConnectionFactory.fromHostList(new Properties(), [broker], transport(authorization))
    .prepareStatement("select v, n from " + table + " where v = ? and n = ? limit 5")
  statement.setString(0, "it's")
  statement.setInt(1, 1)
  rowsOf(statement.execute())
}
tell("controller") {
  def connection = ConnectionFactory.fromController(properties, controller, transport(authorization))
  rowsOf(connection.execute(table, sql))
}
tell("zookeeper") {
  rowsOf(ConnectionFactory.fromZookeeper(new Properties(), zookeeper + "/" + cluster, transport(authorization)).execute(table, sql))
}
tell("statistics") {
  def stats = ConnectionFactory.fromHostList(new Properties(), [broker], transport(authorization)).execute(sql).executionStats
  [stats.numServersQueried, stats.numServersResponded, stats.totalDocs, stats.timeUsedMs >= 0]
}
tell("bad query") { rowsOf(ConnectionFactory.fromHostList(new Properties(), [broker], transport(authorization)).execute("select nope from " + table)) }
tell("wrong password") { rowsOf(ConnectionFactory.fromHostList(new Properties(), [broker], transport("Basic bm9wZTpub3Bl")).execute(sql)) }
tell("jdbc") {
  Class.forName("org.apache.pinot.client.PinotDriver")
  def login = new Properties()
  login.setProperty("user", user)
  login.setProperty("password", password)
  login.setProperty("headers.Authorization", authorization)
  login.setProperty("brokers", broker)
  def connection = DriverManager.getConnection("jdbc:pinot://" + controller, login)
  def statement = connection.createStatement()
  def found = statement.executeQuery(sql)
  def meta = found.metaData
  def rows = [(1..meta.columnCount).collect { meta.getColumnName(it) + " " + meta.getColumnClassName(it) }]
  while (found.next()) {
    rows << [found.getString("v"), found.getInt(2), found.getLong("day")]
  }
  rows
}
tell("jdbc by controller") {
  def login = new Properties()
  login.setProperty("user", user)
  login.setProperty("password", password)
  login.setProperty("headers.Authorization", authorization)
  def connection = DriverManager.getConnection("jdbc:pinot://" + controller, login)
  def found = connection.createStatement().executeQuery("select count(*) from " + table)
  found.next()
  [[found.getInt(1)]]
}
System.exit(0)
