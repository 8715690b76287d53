import type { Administrator } from '../core/caller.ts'

/** The gateway's own commands, which may do everything. */
export const commandLine: Administrator = {
  id: 'command_line',
  address: null,
  accountId: '',
  scopes: ['admin'],
  isOperator: true,
}
