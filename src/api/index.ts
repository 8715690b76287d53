import type { Operations } from '../http/contract-router.ts'
import { accountOperations, type AccountParts } from './accounts.ts'
import { cassetteOperations, type CassetteParts } from './cassettes.ts'
import { entranceOperations, type EntranceParts } from './entrance.ts'
import { exportOperations, type ExportParts } from './exports.ts'
import { keyOperations, type KeyParts } from './keys.ts'
import { peopleOperations, type PeopleParts } from './people.ts'
import { providerKeyOperations, type ProviderKeyParts } from './provider-keys.ts'
import { sessionOperations, type SessionParts } from './sessions.ts'
import { settingOperations, type SettingParts } from './settings.ts'
import { usageOperations, type UsageParts } from './usage.ts'
import { webhookOperations, type WebhookParts } from './webhooks.ts'

/** Dependencies of the operations below /api. */
type ApiParts = AccountParts &
  CassetteParts &
  EntranceParts &
  ExportParts &
  KeyParts &
  PeopleParts &
  ProviderKeyParts &
  SessionParts &
  SettingParts &
  UsageParts &
  WebhookParts

export type ApiOperations = ReturnType<typeof apiOperations>

/** The handlers of the operations below /api. */
export function apiOperations(parts: ApiParts) {
  return {
    ...accountOperations(parts),
    ...cassetteOperations(parts),
    ...entranceOperations(parts),
    ...exportOperations(parts),
    ...keyOperations(parts),
    ...peopleOperations(parts),
    ...providerKeyOperations(parts),
    ...sessionOperations(parts),
    ...settingOperations(parts),
    ...usageOperations(parts),
    ...webhookOperations(parts),
  } satisfies Partial<Operations>
}
