// A stream to make consuming segments of: Maven's central repository has no plug-ins of newer versions for Kafka.
// Compiled by start.groovy, for the class loader of the controller itself.
package pinotadmin.standins

import org.apache.pinot.spi.stream.LongMsgOffset
import org.apache.pinot.spi.stream.OffsetCriteria
import org.apache.pinot.spi.stream.PartitionLevelConsumer
import org.apache.pinot.spi.stream.StreamConsumerFactory
import org.apache.pinot.spi.stream.StreamLevelConsumer
import org.apache.pinot.spi.stream.StreamMetadataProvider
import org.apache.pinot.spi.stream.StreamPartitionMsgOffset

/** Two partitions with 100 messages each. Nobody reads them. */
class Stream extends StreamConsumerFactory {
  StreamMetadataProvider createPartitionMetadataProvider(String client, int partition) { new Topic() }

  StreamMetadataProvider createStreamMetadataProvider(String client) { new Topic() }

  PartitionLevelConsumer createPartitionLevelConsumer(String client, int partition) { null }

  StreamLevelConsumer createStreamLevelConsumer(String client, String table, Set<String> fields, String group) { null }
}

class Topic implements StreamMetadataProvider {
  int fetchPartitionCount(long timeout) { 2 }

  StreamPartitionMsgOffset fetchStreamPartitionOffset(OffsetCriteria criteria, long timeout) {
    new LongMsgOffset(criteria != null && criteria.isLargest() ? 100L : 0L)
  }

  boolean supportsOffsetLag() { true }

  void close() {}
}
