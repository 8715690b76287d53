import { newId } from '../../src/accounts/id.ts'
import type { TestGateway } from './gateway.ts'

/** Stores a connected client without tokens, as `/api` lists it. Returns its id. */
export async function storeConnection(
  gateway: TestGateway,
  {
    createdBy = null,
    accountId,
    name = 'Claude',
  }: { createdBy?: string | null; accountId?: string; name?: string } = {},
): Promise<string> {
  const id = newId('key')
  const row = {
    id,
    name,
    hint: 'mag_oauth_…',
    kind: 'connection' as const,
    client_id: 'https://claude.ai/oauth/client-metadata',
    client_name: name,
    client_redirect_host: 'claude.ai',
    created_by: createdBy,
  }
  await gateway.createKey('live', { row, ...(accountId === undefined ? {} : { accountId }) })
  return id
}
