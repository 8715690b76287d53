import { contractInfo } from '../../generated/operations.ts'
import { protocolVersion } from './revision.ts'

const { title, version } = contractInfo
export const serverInfo = { name: 'model-access-gateway', title, version }
/** What each result of revision 2026-07-28 says about who gives it. */
export const serverInfoMember = { 'io.modelcontextprotocol/serverInfo': serverInfo }
export const capabilities = { tools: { listChanged: true }, logging: {} }
export const instructions =
  'Language and image models of many providers. list-models and list-image-models show what ' +
  'there is, with prices; chat, generate-image and generate-image-preview use it.'

/** The answer to a GET /mcp that does not ask for an event stream. */
export const toolServerCard = {
  name: serverInfo.name,
  version,
  description: instructions,
  protocolVersion,
  capabilities,
}
