// The consistent push of Pinot 1.5.1, with its own classes in the order in which its standalone job calls them:
// start a replacement of everything visible, upload each segment, end; on a failure have the replacement reverted.
// Arguments: job specification, authorization header, tar | metadata | batch, and "break" to fail before the end.
import org.apache.pinot.segment.local.utils.ConsistentDataPushUtils
import org.apache.pinot.segment.local.utils.SegmentPushUtils
import org.apache.pinot.spi.filesystem.LocalPinotFS
import org.apache.pinot.spi.filesystem.PinotFSFactory
import org.apache.pinot.spi.ingestion.batch.IngestionJobLauncher

def (specFile, token, mode, fault) = [args[0], args[1], args[2], args.length > 3 ? args[3] : ""]
def spec = IngestionJobLauncher.getSegmentGenerationJobSpec(specFile, null, [:], [:])
spec.setAuthToken(token)
PinotFSFactory.register("file", LocalPinotFS.class.getName(), null)
def files = PinotFSFactory.create("file")
def folder = new File(new URI(spec.getOutputDirURI()))
def tars = folder.listFiles().findAll { it.name.endsWith(".tar.gz") }.collect { it.toURI().toString() }.sort()
def addresses = SegmentPushUtils.getSegmentUriToTarPathMap(folder.toURI(), spec.getPushJobSpec(), tars as String[])
def names = tars.collect { it.substring(it.lastIndexOf("/") + 1) - ".tar.gz" }

def entries = null
try {
  entries = ConsistentDataPushUtils.preUpload(spec, names)
  println "ENTRIES " + entries.values().join(",")
  def (headers, parameters) = [[], []]
  def auth = org.apache.pinot.common.auth.AuthProviderUtils.makeAuthProvider(token)
  headers.addAll(org.apache.pinot.common.auth.AuthProviderUtils.makeAuthHeaders(auth))
  switch (mode) {
    case "tar": SegmentPushUtils.pushSegments(spec, files, tars); break
    case "metadata": SegmentPushUtils.sendSegmentUriAndMetadata(spec, files, addresses); break
    case "batch":
      parameters.addAll(org.apache.pinot.common.utils.FileUploadDownloadClient.makeTableParam(spec.getTableSpec().getTableName()))
      parameters.add(new org.apache.hc.core5.http.message.BasicNameValuePair("tableType", "OFFLINE"))
      SegmentPushUtils.sendSegmentsUriAndMetadata(spec, files, addresses, headers, parameters)
      break
  }
  if (fault == "break") {
    throw new IllegalStateException("the job breaks before its end")
  }
  ConsistentDataPushUtils.postUpload(spec, entries)
} catch (Exception e) {
  ConsistentDataPushUtils.handleUploadException(spec, entries, e)
  e.printStackTrace()
  System.exit(3)
}
System.exit(0)
