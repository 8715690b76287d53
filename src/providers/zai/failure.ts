import type { FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'

const kinds: readonly (readonly [FailureKind, readonly number[]])[] = [
  ['credentials', [1000, 1001, 1002, 1003, 1004, 1110, 1111, 1112, 1121, 1220]],
  ['out_of_credit', [1113, 1304, 1308, 1309, 1310, 1311, 1313]],
  ['content_policy', [1301]],
  ['not_found', [1211, 1212, 1221, 1222]],
  ['context_length', [1261]],
  ['rejected', [1210, 1213, 1214, 1215, 1231]],
  ['rate_limited', [1302, 1303, 1305, 1312]],
  ['overloaded', [1120, 1230, 1234]],
]

/** The failure kind by code, since an empty balance has status 429 too (docs/vendors.md#zai-errors). */
export function failureKind({ code }: Complaint): FailureKind | undefined {
  return kinds.find(([, codes]) => codes.includes(Number(code)))?.[0]
}
