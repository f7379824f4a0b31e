// The animals that the client sends and receives.

export type Status = 'available' | 'pending' | 'sold'

export interface NewAnimal {
  readonly name: string
  readonly categoryId: bigint
  readonly status?: Status | undefined
}

export interface Animal extends NewAnimal {
  readonly id: bigint
  readonly status?: Status
}
