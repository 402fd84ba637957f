// Starts a Pinot controller, which is all of a Pinot that the repository has of newer versions, and lets two servers and a broker stand in
// that do nothing but reach every state they are told to. Arguments: configuration file, folder for classes (first on the class path), and
// scripts whose classes the controller needs.
import org.apache.helix.HelixManagerFactory
import org.apache.helix.InstanceType
import org.apache.helix.NotificationContext
import org.apache.helix.model.InstanceConfig
import org.apache.helix.model.Message
import org.apache.helix.participant.statemachine.StateModel
import org.apache.helix.participant.statemachine.StateModelFactory
import org.apache.pinot.spi.env.PinotConfiguration
import org.codehaus.groovy.control.CompilationUnit
import org.codehaus.groovy.control.CompilerConfiguration

/** Every transition is done at once. */
class Obedient extends StateModel {
  void onBecomeOnlineFromOffline(Message m, NotificationContext c) {}
  void onBecomeOfflineFromOnline(Message m, NotificationContext c) {}
  void onBecomeConsumingFromOffline(Message m, NotificationContext c) {}
  void onBecomeOnlineFromConsuming(Message m, NotificationContext c) {}
  void onBecomeOfflineFromConsuming(Message m, NotificationContext c) {}
  void onBecomeDroppedFromConsuming(Message m, NotificationContext c) {}
  void onBecomeDroppedFromOffline(Message m, NotificationContext c) {}
  void onBecomeDroppedFromOnline(Message m, NotificationContext c) {}
  void onBecomeOfflineFromError(Message m, NotificationContext c) {}
  void onBecomeDroppedFromError(Message m, NotificationContext c) {}
}

class Obedience extends StateModelFactory<Obedient> {
  Obedient createNewStateModel(String resource, String partition) { new Obedient() }
}

def settings = new Properties()
new File(args[0]).withInputStream { settings.load(it) }
def (cluster, zookeeper) = [settings["controller.helix.cluster.name"], settings["controller.zk.str"]]

def unit = new CompilationUnit(new CompilerConfiguration(targetDirectory: new File(args[1])))
args.drop(2).each { unit.addSource(new File(it)) }
unit.compile()

def controller = Class.forName("org.apache.pinot.controller.ControllerStarter").newInstance()
controller.init(new PinotConfiguration(new HashMap<>(settings)))
controller.start()

[["Server_127.0.0.1_1", ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME"], "SegmentOnlineOfflineStateModel"],
 ["Server_127.0.0.1_2", ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME"], "SegmentOnlineOfflineStateModel"],
 ["Broker_127.0.0.1_3", ["DefaultTenant_BROKER"], "BrokerResourceOnlineOfflineStateModel"]].each { name, tags, model ->
  def participant = HelixManagerFactory.getZKHelixManager(cluster, name, InstanceType.PARTICIPANT, zookeeper)
  def about = new InstanceConfig(name)
  about.setHostName("127.0.0.1")
  about.setPort(name.tokenize("_")[-1])
  about.setInstanceEnabled(true)
  about.record.setSimpleField("adminPort", name.tokenize("_")[-1])
  tags.each { about.addTag(it) }
  if (!(name in controller.helixResourceManager.helixAdmin.getInstancesInCluster(cluster))) {
    controller.helixResourceManager.helixAdmin.addInstance(cluster, about)
  }
  participant.stateMachineEngine.registerStateModelFactory(model, new Obedience())
  participant.connect()
}
println "READY"
System.out.flush()
Thread.currentThread().join()
