package tables

// table is one table of the kubelet's tests, and what is made of it here.
type table struct {
	// file is below pkg/kubelet, tests are its functions. Without any they are all
	// of the file, and one without a table is one case.
	file  string
	tests []string
	// cases is how many they have, and taken is how many of them are cases here.
	cases, taken int
	// ours are the files and the functions or variables that hold our cases, as
	// "file name". They may hold cases of our own, too.
	ours []string
	own  int
	// why says why the other cases are left out.
	why string
}

// tables are those of the parts that a hollow node has. The facts of those of
// which no case is taken are tests of another form, as their reasons say.
var tables = []table{
	// What a sync does.
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActions"},
		cases: 17, taken: 17, ours: []string{"decide_test.go mainDecisions"},
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsWithInitContainers"},
		cases: 19, taken: 16, ours: []string{"decide_test.go initDecisions"},
		why: "3 are about in-place resize",
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithRestartableInitContainers"},
		cases: 25, taken: 25, ours: []string{"decide_test.go sidecarDecisions"},
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithContainerRestartRules"},
		cases: 5, taken: 5, ours: []string{"decide_test.go TestAContainersOwnPolicyComesBeforeThePods"},
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsForRestartAllContainers"},
		cases: 10, taken: 10, ours: []string{"decide_test.go TestAllContainersRestartWithTheCauseLast"},
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithInitAndEphemeralContainers"},
		cases: 9, why: "there are no ephemeral containers",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsForPodResize"},
		cases: 18, why: "there is no in-place resize",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestDoBackOff"},
		cases: 3, why: "TestACrashLoopHasTheTimesOfTheKubelet of package conformance compares all times of a loop",
	},
	{
		file: "kuberuntime/kuberuntime_container_test.go", tests: []string{"TestKillContainerGracePeriod"},
		cases: 11, why: "TestAProbesGracePeriodComesFirst has the facts, and no probe overrides that of a deletion",
	},
	// The status of a pod.
	{
		file: "kubelet_pods_test.go",
		tests: []string{
			"TestPodPhaseWithRestartAlways", "TestPodPhaseWithRestartAlwaysInitContainers",
			"TestPodPhaseWithRestartAlwaysRestartableInitContainers", "TestPodPhaseWithRestartAlwaysAndPodHasRun",
			"TestPodPhaseWithRestartNever", "TestPodPhaseWithRestartNeverInitContainers",
			"TestPodPhaseWithRestartNeverRestartableInitContainers", "TestPodPhaseWithRestartOnFailure",
			"TestPodPhaseWithContainerRestartPolicy", "TestPodPhaseWithContainerRestartPolicyInitContainers",
			"TestPodPhaseWithRestartAllContainers",
		},
		cases: 94, taken: 59, ours: []string{"phase_test.go TestThePhaseIsThatOfTheKubelet"},
		why: "TestAContainersOwnPolicyDecidesThePhase has those about policies of containers in short",
	},
	{
		file:  "status/generate_test.go",
		tests: []string{"TestGenerateContainersReadyCondition", "TestGeneratePodReadyCondition"},
		cases: 25, why: "TestConditionsOfAPodAreThoseOfTheKubelet of package conformance compares the functions " +
			"themselves on random pods",
	},
	{
		file: "active_deadline_test.go", tests: []string{"TestNewActiveDeadlineHandler", "TestActiveDeadlineHandler"},
		cases: 13, why: "8 are about the constructor and the rest is one comparison, which TestAPodEndsAtItsDeadline has",
	},
	{
		file: "status/status_manager_test.go", cases: 103,
		why: "TestTheAPIShowsWhatTheKubeletsStatusManagerWrites of package conformance runs the manager itself",
	},
	// The life of a pod.
	{
		file: "pod_workers_test.go", tests: []string{"Test_calculateEffectiveGracePeriod"},
		cases: 5, taken: 5, ours: []string{"plan_test.go TestAPodsGracePeriodOnlyShrinks"}, own: 4,
	},
	{
		file: "pod_workers_test.go", tests: []string{
			"TestUpdatePod", "TestCompleteWork_Enqueue", "Test_removeTerminatedWorker", "Test_allowPodStart",
		},
		cases: 43, why: "they set private fields of its workers; OneSync, StaysEnded, OneStatic and Finished in the " +
			"random worlds hold what these promise",
	},
	{
		file: "kubelet_pods_test.go", tests: []string{"TestKubelet_HandlePodCleanups"},
		cases: 14, why: "they list its workers after a cleanup; orphans and pods that come back are tests of their own",
	},
	{
		file: "pleg/generic_test.go", cases: 22,
		why: "TestAPodIsSyncedForTheEventsOfTheKubelet of package conformance relists beside it",
	},
	{
		file: "kuberuntime/kuberuntime_termination_order_test.go", cases: 3,
		why: "they sleep; TestSidecarsStopAfterTheMainContainersInReverse has the order that they want",
	},
	{
		file: "prober/worker_test.go", cases: 47,
		why: "they call private methods; TestProbesDecideAtTheirThresholds and ReadyTrue hold the rules",
	},
	{
		file: "pod_container_deletor_test.go", cases: 7,
		why: "they ask it for one pod; here a sync removes what it needs no more, and keeps two runs of each name",
	},
	{
		file: "config/config_test.go", cases: 13,
		why: "they are about channels; random worlds with late and broken watches hold what becomes of updates",
	},
	// The node.
	{
		file: "nodestatus/setters_test.go", tests: []string{"TestReadyCondition"},
		cases: 11, taken: 5, ours: []string{"nodestatus_test.go TestReadyNamesAllProblems"},
		why: "1 is about cgroups, 1 about a node without storage, and 4 about transitions, which heartbeat.Sender has",
	},
	{
		file: "kubelet_node_status_test.go", tests: []string{"TestFastStatusUpdateOnce"},
		cases: 5, why: "TestTheFirstReadyIsSearchedForEach100Milliseconds has the facts in virtual time",
	},
	{
		file: "eviction/eviction_manager_test.go", cases: 50,
		why: "pressure is a fault here, which evicts nothing; of it only the admission of pods remains",
	},
	{
		file: "nodeshutdown/nodeshutdown_manager_linux_test.go", cases: 18,
		why: "there is no graceful shutdown",
	},
}
