export type PeopleTable = {
  id: string
  email: string
  name: string
  password_hash: string
  created_at: number
}

type Role = 'owner' | 'admin' | 'member'

export type MembersTable = {
  account_id: string
  person_id: string
  role: Role
  joined_at: number
}

export type SessionsTable = {
  id: string
  person_id: string
  digest: string
  created_at: number
  last_used_at: number
  expires_at: number
  address: string | null
  user_agent: string | null
}

export type InvitationsTable = {
  id: string
  account_id: string
  role: Role
  email: string
  digest: string
  created_by: string
  created_at: number
  expires_at: number
  used_at: number | null
}

export type SetUpLinksTable = {
  digest: string
  created_at: number
  expires_at: number
  used_at: number | null
}

export type PasswordLinksTable = {
  digest: string
  person_id: string
  created_at: number
  expires_at: number
  used_at: number | null
}
